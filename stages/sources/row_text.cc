#include "stages/sources/row_text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "base/words.h"
#include "formats/loose_json.h"
#include "stages/sources/input_keys.h"
#include "stages/sources/row_columns.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kSampleRows = 20;
constexpr std::string_view kDroppedUtf8 = "dropped_invalid_utf8";
constexpr std::string_view kEmptyText = "dropped_empty_text";

bool HasLines(const BytesColumn& text, bool space_is_blank) {
  if (text.joined().find('\n') != std::string_view::npos) return true;
  for (std::size_t row = 0; row < text.size(); ++row)
    if (text[row].empty() || (space_is_blank && IsBlankLine(text[row]))) return true;
  return false;
}

std::string_view KindOf(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_array()) return "a list";
  return value.is_object() ? "an object" : "a string";
}

std::vector<std::string> WantedOf(const RowTextRules& rules) {
  std::vector<std::string> wanted = rules.text;
  if (!rules.label.empty()) wanted.push_back(rules.label);
  return wanted;
}

class RowTextWorker : public Worker {
 public:
  RowTextWorker(const RowTextRules& rules, std::unique_ptr<Worker> repair)
      : rules_(rules), wanted_(WantedOf(rules)), repair_(std::move(repair)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    RETURN_IF_ERROR(repair_->Apply(batch, stage, counts));
    if (rules_.json) {
      RETURN_IF_ERROR(TakeMembers(batch, stage, counts));
      RETURN_IF_ERROR(repair_->Apply(batch, stage, counts));  // \u0000 is JSON, but no text
    }
    if (!rules_.label.empty()) RETURN_IF_ERROR(RepairLabels(batch, stage, counts));
    if (rules_.fields)
      CutFields(batch, stage, counts);
    else if (HasLines(batch.text, rules_.space_is_blank))
      CutLines(batch, stage, counts);
    // The order is that of the rows, whichever step and batch found them.
    std::stable_sort(batch.quarantine.begin(), batch.quarantine.end(),
                     [](const Quarantined& a, const Quarantined& b) { return a.index < b.index; });
    return {};
  }

 private:
  Status TakeMembers(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    text_.Clear(), label_.Clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const RecordHead& head = batch.heads[row];
      absent_.clear();
      const BadRow bad = TakeRow(batch.text[row], counts);
      const bool has_no_text = bad.reason == kNoText || bad.reason == kEmptyText;
      if (bad.reason.empty() || has_no_text)
        for (const std::string_view name : absent_) {
          const std::string reason = AbsentColumn(name);
          counts.Add(reason);
          // A few rows of a partition show the names that there are, should all rows be like them.
          if (head.index < kSampleRows)
            batch.quarantine.push_back({stage, head.index, head.sub, reason, std::string(batch.text[row])});
        }
      if (bad.reason.empty()) {
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      if (bad.reason == kDroppedUtf8 ? rules_.invalid == InvalidUtf8::kFail : rules_.fail && !has_no_text) {
        batch.failed_index = head.index;
        return Status(Code::kDataLoss, StrCat(bad.why, "; mend it, or set ",
                                              bad.reason == kDroppedUtf8 ? "invalid_utf8: replace"
                                                                         : "on_bad_row: quarantine"));
      }
      counts.Add(bad.reason);
      counts.AddSize(bad.reason, {batch.text[row].size()});
      batch.quarantine.push_back(
          {stage, head.index, head.sub, std::string(bad.reason), std::string(batch.text[row])});
    }
    batch.KeepBesideText(kept_);
    batch.text.Swap(text_);
    batch.label.Swap(label_);
    return {};
  }

  Result<Json> Parse(std::string_view row, bool& mended) {
    Result<Json> object = Json::ParseMembers(row, wanted_);
    if (object.ok()) return object;
    const std::optional<std::string> strict = StrictInUnwanted(row, wanted_);
    if (strict) object = Json::ParseMembers(*strict, wanted_);
    if (object.ok() || !rules_.mends_surrogates) return object;
    const std::optional<std::string> whole = WithoutLoneSurrogates(strict ? std::string_view(*strict) : row);
    if (!whole) return object;
    Result<Json> mend = Json::ParseMembers(*whole, wanted_);
    mended = mend.ok();
    return mended ? std::move(mend) : std::move(object);
  }

  // Appends to text_ and label_ unless the row is bad, and to absent_ the columns that it has not.
  BadRow TakeRow(std::string_view row, StageCounts& counts) {
    bool mended = false;
    const Result<Json> object = Parse(row, mended);
    if (!object.ok()) {
      const std::string form = FormOfNoObject(row, false);
      return {"dropped_json", form.empty() ? std::string(object.status().message()) : form};
    }
    if (mended && rules_.invalid != InvalidUtf8::kReplace)
      return {kDroppedUtf8, "half of a surrogate pair, such as \\ud800, stands in it"};
    for (const std::string& name : wanted_)
      if (!object->Has(name)) {
        if (!rules_.may_lack || name == rules_.label)
          return {"dropped_no_field", StrCat("no member '", name, "'")};
        absent_.push_back(name);
      }
    for (const std::string& name : rules_.text)
      if (const Json& value = (*object)[name]; !value.is_string() && !(rules_.may_lack && value.is_null()))
        return {"dropped_wrong_type", StrCat("'", name, "' is ", KindOf(value), ", not a string")};
    if (!absent_.empty() && absent_.size() == rules_.text.size()) return {kNoText, {}};
    const Json& label = (*object)[rules_.label];
    if (!rules_.label.empty() && !label.is_string() && !label.is_int() && !label.is_bool())
      return {"dropped_wrong_type",
              StrCat("'", rules_.label, "' is ", KindOf(label), ", not a string, an integer, true or false")};
    if (mended) counts.Add("lone_surrogate");

    std::string& out = text_.open_row();
    const std::size_t begin = out.size();
    bool first = true;
    std::uint64_t blank = 0;
    for (const std::string& name : rules_.text)
      blank += AppendPart(rules_, (*object)[name].AsString(), first, out);
    if (blank > 0) counts.Add("blank_lines", blank);
    if (rules_.may_lack && !rules_.fields && out.size() == begin) return {kEmptyText, {}};
    text_.CloseRow();
    if (!rules_.label.empty())
      label_.Append(label.is_string() ? std::string(label.AsString()) : label.Dump());
    return {};
  }

  // Repairs labels as repair_ does text; the quarantine gets the label and not the record.
  Status RepairLabels(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    if (IsCleanUtf8(batch.label.joined())) return {};
    label_.Clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view label = batch.label[row];
      if (IsCleanUtf8(label)) {
        kept_.push_back(static_cast<std::uint32_t>(row));
        label_.Append(label);
        continue;
      }
      const RecordHead& head = batch.heads[row];
      if (rules_.invalid == InvalidUtf8::kFail) {
        batch.failed_index = head.index;
        return Status(Code::kDataLoss, StrCat("its label '", Printable(label),
                                              "' is not UTF-8; mend it, or set invalid_utf8: replace"));
      }
      const bool dropped = rules_.invalid == InvalidUtf8::kQuarantine;
      counts.Add(dropped ? "dropped_invalid_utf8" : "invalid_utf8");
      if (dropped) counts.AddSize("dropped_invalid_utf8", {batch.text[row].size()});
      batch.quarantine.push_back({stage, head.index, head.sub, "invalid_utf8", std::string(label)});
      if (dropped) continue;
      kept_.push_back(static_cast<std::uint32_t>(row));
      RepairUtf8(label, label_.open_row());
      label_.CloseRow();
    }
    batch.Keep(kept_);
    batch.label.Swap(label_);
    return {};
  }

  // Each line is a field, and the row one record.
  void CutFields(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    text_.Clear(), batch.fields.Clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::string& out = text_.open_row();
      std::vector<std::uint32_t>& ends = batch.fields.open_row();
      const std::size_t begin = out.size(), first_end = ends.size();
      bool good = true;
      std::string_view text = batch.text[row];
      for (std::size_t i = 0; i < rules_.text.size(); ++i) {
        const std::string_view field = TakeLine(text);
        good = good && !field.empty();
        if (i > 0) out.push_back(' ');
        out.append(field);
        ends.push_back(static_cast<std::uint32_t>(out.size() - begin));
      }
      if (good) {
        text_.CloseRow();
        batch.fields.CloseRow();
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      out.resize(begin);
      ends.resize(first_end);
      counts.Add("dropped_empty_field");
      const RecordHead& head = batch.heads[row];
      batch.quarantine.push_back(
          {stage, head.index, head.sub, "dropped_empty_field", std::string(batch.text[row])});
    }
    U32ListColumn fields;
    fields.Swap(batch.fields);
    batch.KeepBesideText(kept_);
    batch.fields.Swap(fields);
    batch.text.Swap(text_);
  }

  // Each line that is not blank becomes a record; with a label, all lines become one record.
  void CutLines(Batch& batch, std::uint32_t stage, StageCounts& counts) {
    text_.Clear(), label_.Clear(), heads_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      RecordHead head = batch.heads[row];
      std::uint64_t blank = 0;
      for (std::string_view text = batch.text[row]; !text.empty();) {
        const std::string_view line = TakeLine(text);
        if (line.empty() || (rules_.space_is_blank && IsBlankLine(line))) {
          ++blank;
          continue;
        }
        std::string& out = text_.open_row();
        if (!rules_.label.empty() && head.sub > 0) out.push_back(' ');
        out.append(line);
        if (rules_.label.empty()) {
          text_.CloseRow();
          heads_.push_back(head);
        }
        ++head.sub;
      }
      if (blank > 0) counts.Add("blank_lines", blank);
      if (head.sub == 0) {
        counts.Add(kEmptyText);
        batch.quarantine.push_back(
            {stage, head.index, 0, std::string(kEmptyText), std::string(batch.text[row])});
      } else if (!rules_.label.empty()) {
        text_.CloseRow();
        label_.Append(batch.label[row]);
        head.sub = 0;
        heads_.push_back(head);
      }
    }
    batch.heads.swap(heads_);
    batch.text.Swap(text_);
    batch.label.Swap(label_);
  }

  const RowTextRules& rules_;
  std::vector<std::string> wanted_;  // members
  const std::unique_ptr<Worker> repair_;
  BytesColumn text_;
  BytesColumn label_;
  std::vector<RecordHead> heads_;
  std::vector<std::uint32_t> kept_;
  std::vector<std::string_view> absent_;  // of the row that is taken
};

/// Returns "'a', 'b'".
std::string Quoted(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += StrCat(text.empty() ? "'" : ", '", Printable(name), "'");
  return text;
}

}  // namespace

std::string AbsentColumn(std::string_view name) { return StrCat("absent_", Printable(name)); }

std::vector<NeededColumn> NeededColumns(const TextRules& rules, std::string_view column, std::string_view row,
                                        std::span<const std::string_view> unseen,
                                        std::string (*advice)(std::string_view sample,
                                                              const std::string& name)) {
  std::vector<NeededColumn> needed;
  for (const std::string& name : rules.text)
    needed.push_back({AbsentColumn(name),
                      StrCat(column, " '", Printable(name), "'"),
                      std::string(row),
                      {unseen.begin(), unseen.end()},
                      [advice, name](std::string_view sample) { return advice(sample, name); }});
  return needed;
}

std::vector<Reason> RowTextReasons() {
  std::vector<Reason> reasons = {
      Drop(std::string(kEmptyText), "It had no text."),
      Drop(std::string(kNoText), "It had none of the columns of text."),
      Drop("dropped_empty_field", "With `columns: fields`, a column of it was empty."),
      {"absent_*", "It did not have the column of text of that name, and lost nothing else."},
  };
  for (Reason& reason : RepairReasons()) reasons.push_back(std::move(reason));
  reasons.push_back(Tally("blank_lines", "Blank lines, which are no records."));
  return reasons;
}

Result<std::unique_ptr<Worker>> RowText::NewWorker() const {
  ASSIGN_OR_RETURN(std::unique_ptr<Worker> repair, repair_.NewWorker());
  return std::make_unique<RowTextWorker>(rules_, std::move(repair));
}

std::string MembersAdvice(std::string_view rows, const RowTextRules& rules) {
  constexpr std::size_t kMostShown = 20;
  constexpr std::size_t kWholeRows = 60 << 10;  // a longer one is perhaps the front of a row
  const std::vector<std::string> wanted = WantedOf(rules);
  std::set<std::string> seen, missing;
  std::string of_first;  // what only the first row says
  for (bool first = true; !rows.empty(); first = false) {
    const std::string_view row = TakeUntil(rows, '\n');
    const Result<Json> object = Json::Parse(row);
    if (!object.ok() || !object->is_object()) {
      if (first) of_first = FormOfNoObject(row, row.size() >= kWholeRows);
      if (!of_first.empty()) return of_first;
      continue;
    }
    for (const auto& [name, value] : object->AsObject())
      if (seen.size() < kMostShown) seen.insert(name);
    for (const std::string& name : wanted) {
      const Json& value = (*object)[name];
      if (!object->Has(name))
        missing.insert(name);
      else if (first && of_first.empty() && name != rules.label && !value.is_string())
        of_first = StrCat("'", Printable(name), "' is ", KindOf(value), ", not a string");
    }
    if (const std::string_view list = ListOfObjectsIn(row); first && !missing.empty() && !list.empty())
      return StrCat("these rows lack ", Quoted(missing), ", and ", ListAdvice(list));
  }
  if (missing.empty()) return of_first.empty() ? "mend it" : of_first;
  return StrCat("these rows lack ", Quoted(missing),
                seen.empty() ? " and have no columns" : StrCat(" and have the columns ", Quoted(seen)),
                ": name those in the keys `text` and `label`, or mend the rows");
}

std::string AbsentAdvice(std::string_view rows, const std::string& column) {
  std::set<std::string> names;
  while (!rows.empty()) {
    const std::string_view row = TakeUntil(rows, '\n');
    const Result<Json> object = Json::Parse(row);
    if (!object.ok()) continue;
    if (const std::string_view list = ListOfObjectsIn(row); !list.empty()) return ListAdvice(list);
    for (const auto& [name, value] : object->AsObject()) names.insert(name);
  }
  return ColumnsAdvice(column, {names.begin(), names.end()});
}

}  // namespace pipeline
