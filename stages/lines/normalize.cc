#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "text/text_normalizer.h"
#include "text/unicode.h"

namespace pipeline {

namespace {

constexpr std::string_view kKeepJamo = "keep_jamo";

class NormalizeWorker final : public Worker {
 public:
  NormalizeWorker(const TextNormalizer& rule, bool drop_empty) : rule_(rule), drop_empty_(drop_empty) {}

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
  // Treats each field as a line; returns the same as TextNormalizer::Append.
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

  const TextNormalizer& rule_;
  bool drop_empty_;
  bool empty_field_ = false;  // in the last row with fields
  U32ListColumn fields_;
  BytesColumn text_;  // swapped with that of each batch, so that no line allocates
  std::vector<std::uint32_t> kept_;
};

class Normalize final : public Transform {
 public:
  Normalize(TextNormalizer rule, bool drop_empty) : rule_(std::move(rule)), drop_empty_(drop_empty) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<NormalizeWorker>(rule_, drop_empty_);
  }

 private:
  TextNormalizer rule_;
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
    TextNormalizer rule({.form = FormNamed(config["form"].AsString()),
                         .jamo = config[kKeepJamo].AsBool() ? Jamo::kKeep : Jamo::kCompose,
                         .letter_case = CaseNamed(config["case"].AsString()),
                         .collapse = config["whitespace"].AsString() == "collapse"});
    return std::make_unique<Normalize>(std::move(rule), config["drop_empty"].AsBool(true));
  }};
  return type;
}

}  // namespace pipeline
