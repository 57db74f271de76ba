#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "text/unicode.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::string_view kKeepJamo = "keep_jamo";

LetterCase CaseNamed(std::string_view name) {
  if (name == "lower") return LetterCase::kLower;
  if (name == "lower_ascii") return LetterCase::kLowerAscii;
  return LetterCase::kKeep;
}

NormalForm FormNamed(std::string_view name) {
  if (name == "nfc") return NormalForm::kNfc;
  if (name == "nfkc") return NormalForm::kNfkc;
  if (name == "nmt_nfkc") return NormalForm::kNmtNfkc;
  return NormalForm::kNone;
}

/// Normalizes one line. Immutable: shared by all workers.
class LineRule {
 public:
  LineRule(NormalForm form, Jamo jamo, LetterCase letter_case, bool collapse)
      : form_(form),
        jamo_(jamo),
        case_(letter_case),
        collapse_(collapse),
        stable_(StableCodePoints(form, letter_case, jamo)) {
    if (!collapse) return;
    for (char32_t c = 0; c < 0x10000; ++c)
      if (IsWhiteSpace(c) && c != ' ') stable_.Remove(c);
  }

  /// Appends the normalized `whole`, which may be empty. Returns whether it differs from `whole`.
  Result<bool> Append(std::string_view whole, std::string& out) const {
    const std::string_view line = collapse_ ? StripWhiteSpace(whole) : whole;
    const std::size_t begin = out.size();
    for (std::size_t at = 0; at < line.size();) {
      const StableRun run = StableRunAt(line, at);
      if (run.stop == line.size()) {
        out.append(line.substr(at));
        if (at == 0) return line.size() != whole.size();
        break;
      }
      out.append(line.substr(at, run.joins - at));
      at = case_ == LetterCase::kKeep ? WorthCopyingAt(line, run.stop) : line.size();
      const std::size_t looked_at = out.size();
      RETURN_IF_ERROR(AppendNormalForm(form_, line.substr(run.joins, at - run.joins), out, jamo_));
      if (case_ != LetterCase::kKeep) RETURN_IF_ERROR(Lower(out, begin));
      if (collapse_) CollapseWhiteSpace(out, looked_at);
    }
    if (collapse_) StripSpaces(out, begin);
    return std::string_view(out).substr(begin) != whole;
  }

 private:
  // Fewer stable bytes are normalised together with the text around them, because each call of ICU has its
  // price.
  static constexpr std::size_t kWorthCopying = 16;

  // The word around a capital, stable characters included, decides about its small letter. A small letter may
  // compose with the marks behind it although the capital does not.
  Status Lower(std::string& out, std::size_t begin) const {
    RETURN_IF_ERROR(MakeLowerCase(case_, out, begin));
    if (form_ == NormalForm::kNone) return {};
    std::string composed;
    RETURN_IF_ERROR(AppendNormalForm(NormalForm::kNfc, std::string_view(out).substr(begin), composed));
    out.replace(begin, std::string::npos, composed);
    return {};
  }

  /// Bytes that stay as they are.
  struct StableRun {
    std::size_t joins;  // the last character, because the text behind may join it; `stop` if there is none
    std::size_t stop;   // their end: the end of the line, or the first character that may change
  };

  /// Single spaces inside the line are stable.
  StableRun StableRunAt(std::string_view line, std::size_t at) const {
    std::size_t last = at;
    while (at < line.size()) {
      if (const std::size_t run = stable_.ThreeByteRunAt(line, at); run > 0) {
        at += run;
        last = at - 3;
        continue;
      }
      const std::size_t size = stable_.MatchAt(line, at);
      if (size == 0 || (collapse_ && line[at] == ' ' && line.substr(at + 1, 1) == " ")) return {last, at};
      last = at;
      at += size;
    }
    return {last, at};
  }

  /// Returns the next run that is worth copying, behind the character at `stop`, or the end of the line. The
  /// run joins no text before it, and does not begin with a space, which may be one of several.
  std::size_t WorthCopyingAt(std::string_view line, std::size_t stop) const {
    std::size_t at = stop + Utf8Size(line[stop]);
    for (std::size_t begin = at; at < line.size();) {
      const std::size_t size = stable_.MatchAt(line, at);
      const bool stays = size > 0 && !(collapse_ && begin == at && line[at] == ' ');
      at += stays ? size : Utf8Size(line[at]);
      if (!stays) begin = at;
      if (at - begin >= kWorthCopying) return begin;
    }
    return line.size();
  }

  static void StripSpaces(std::string& out, std::size_t begin) {
    if (out.size() > begin && out.back() == ' ') out.pop_back();
    if (out.size() > begin && out[begin] == ' ') out.erase(begin, 1);
  }

  NormalForm form_;
  Jamo jamo_;
  LetterCase case_;
  bool collapse_;
  CodePointSet stable_;
};

class NormalizeWorker final : public Worker {
 public:
  NormalizeWorker(const LineRule& rule, bool drop_empty) : rule_(rule), drop_empty_(drop_empty) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    text_.Clear(), fields_.Clear(), kept_.clear();
    empty_field_ = false;
    std::uint64_t altered = 0;
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view before = batch.text[row];
      std::string& out = text_.open_row();
      const std::size_t begin = out.size();
      Result<bool> changed =
          batch.fields.empty() ? rule_.Append(before, out) : AppendFields(before, batch.fields[row], out);
      if (!changed.ok()) {
        batch.failed_index = batch.heads[row].index;
        return std::move(changed).status();
      }
      if (drop_empty_ && (out.size() == begin || empty_field_)) {
        out.resize(begin);
        fields_.open_row().resize(fields_.size() == 0 ? 0 : fields_.ends().back());
        const RecordHead& head = batch.heads[row];
        batch.quarantine.push_back({stage, head.index, head.sub, "dropped_empty", std::string(before)});
        continue;
      }
      if (*changed) ++altered;
      text_.CloseRow();
      if (!batch.fields.empty()) fields_.CloseRow();
      kept_.push_back(static_cast<std::uint32_t>(row));
    }
    if (altered > 0) counts.Add("altered", altered);
    if (kept_.size() < batch.size()) {
      counts.Add("dropped_empty", batch.size() - kept_.size());
      batch.KeepBesideText(kept_);
    }
    batch.text.Swap(text_);
    if (!batch.fields.empty()) batch.fields.Swap(fields_);
    return {};
  }

 private:
  // Treats each field as a line; returns the same as LineRule::Append.
  Result<bool> AppendFields(std::string_view text, std::span<const std::uint32_t> ends, std::string& out) {
    const std::size_t row_begin = out.size();
    std::size_t begin = 0;
    bool changed = false;
    empty_field_ = false;
    for (const std::uint32_t end : ends) {
      if (begin > 0) out.push_back(' ');
      const std::size_t field_begin = out.size();
      ASSIGN_OR_RETURN(const bool field_changed, rule_.Append(text.substr(begin, end - begin), out));
      changed = changed || field_changed;
      empty_field_ = empty_field_ || out.size() == field_begin;
      fields_.open_row().push_back(static_cast<std::uint32_t>(out.size() - row_begin));
      begin = end + 1;
    }
    return changed;
  }

  const LineRule& rule_;
  bool drop_empty_;
  bool empty_field_ = false;  // in the last row with fields
  U32ListColumn fields_;
  BytesColumn text_;  // swapped with that of each batch, so that no line allocates
  std::vector<std::uint32_t> kept_;
};

class Normalize final : public Transform {
 public:
  Normalize(LineRule rule, bool drop_empty) : rule_(std::move(rule)), drop_empty_(drop_empty) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<NormalizeWorker>(rule_, drop_empty_);
  }

 private:
  LineRule rule_;
  bool drop_empty_;
};

}  // namespace

StageType NormalizeType() {
  StageType type;
  type.name = "normalize";
  type.help = "Brings each line into a Unicode normal form and tidies its white space.";
  type.keys = {
      Choice("form", "nfkc", {"nfc", "nfkc", "nmt_nfkc", "none"}, "The Unicode normal form."),
      {kKeepJamo, ValueType::kBoolean, "~",
       "Keeps compatibility jamo, as in ㅋㅋ and ㅠㅠ; without it NFKC makes conjoining ones of them, which "
       "join into syllables."},
      Choice(
          "case", "~", {"lower", "lower_ascii"},
          "Makes letters small: all of them, or A to Z alone; for models that read lower case. Without it, "
          "letters stay."),
      Choice("whitespace", "collapse", {"collapse", "keep"},
             "Whether runs of white space and control characters become one space, none at the ends."),
      {"drop_empty", ValueType::kBoolean, "true", "Whether lines that end up empty are dropped."},
  };
  type.reasons = {{"altered", "It is another text now."}, Drop("dropped_empty", "Nothing was left of it.")};
  type.libraries = {{"icu", IcuVersion()}};
  type.check = [](const Json& config, Schema& schema) -> Status {
    const NormalForm form = FormNamed(config["form"].AsString());
    if (config[kKeepJamo].AsBool() && (form == NormalForm::kNone || form == NormalForm::kNfc))
      return Status(Code::kInvalidArgument,
                    StrCat(kKeepJamo, ": this form changes no jamo; leave the key out, or set form: nfkc"));
    if (schema.columns.count("text") == 0)
      return Status(Code::kInvalidArgument,
                    "normalize changes the column 'text', which its input does not have");
    for (const std::string_view column : {"cuts", "ids"})
      if (schema.columns.count(column) != 0)
        return Status(Code::kInvalidArgument,
                      StrCat("normalize changes the text that the column '", column,
                             "' points into; put it in front of the stage that makes '", column, "'"));
    return {};
  };
  type.kind = TransformKind{.make = [](const StageContext& context) -> Result<std::unique_ptr<Transform>> {
    const Json& config = context.config;
    LineRule rule(FormNamed(config["form"].AsString()),
                  config[kKeepJamo].AsBool() ? Jamo::kKeep : Jamo::kCompose,
                  CaseNamed(config["case"].AsString()), config["whitespace"].AsString() == "collapse");
    return std::make_unique<Normalize>(std::move(rule), config["drop_empty"].AsBool(true));
  }};
  return type;
}

}  // namespace pipeline
