#include "stages/lines/label_numbers.h"

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kUnknownLabelKey = "on_unknown_label";
constexpr std::string_view kUnknownLabel = "dropped_unknown_label";

}  // namespace

ConfigKey UnknownLabelKey() {
  return Choice(kUnknownLabelKey, "~", {"quarantine", "fail"},
                "Treatment of a record with another label: set aside and counted, or a failure (`fail`, the "
                "default).");
}

bool FailsOnUnknownLabel(const Json& config) { return config[kUnknownLabelKey].AsString() != "quarantine"; }

Reason UnknownLabelReason() { return Drop(std::string(kUnknownLabel), "Its label is not among `labels`."); }

Status KeepLabels(Batch& batch, std::uint32_t stage, StageCounts& counts, bool fails, std::string_view wrong,
                  const std::function<bool(std::string_view label)>& accepts) {
  std::vector<std::uint32_t> kept;
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const std::string_view label = batch.label[row];
    if (accepts(label)) {
      kept.push_back(static_cast<std::uint32_t>(row));
      continue;
    }
    const RecordHead& head = batch.heads[row];
    if (fails) {
      batch.failed_index = head.index;
      return Status(Code::kFailedPrecondition,
                    StrCat(label.empty() ? std::string("its label is empty; write one")
                                         : StrCat("its label '", Printable(label), "' ", wrong),
                           ", or set ", kUnknownLabelKey, ": quarantine"));
    }
    counts.Add(kUnknownLabel);
    batch.quarantine.push_back(
        {stage, head.index, head.sub, std::string(kUnknownLabel), StrCat(label, "\t", batch.text[row])});
  }
  if (kept.size() < batch.size()) batch.Keep(kept);
  return {};
}

LabelNumbers::LabelNumbers(const std::vector<std::string>& names, bool fails) : fails_(fails) {
  for (const std::string& name : names) numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size()));
}

std::optional<std::uint32_t> LabelNumbers::Of(std::string_view label) const {
  const auto found = numbers_.find(label);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Status LabelNumbers::Number(Batch& batch, std::uint32_t stage, StageCounts& counts,
                            std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  return KeepLabels(batch, stage, counts, fails_, "is not among `labels`; name it there",
                    [&](std::string_view label) {
                      const std::optional<std::uint32_t> number = Of(label);
                      if (number) numbers.push_back(*number);
                      return number.has_value();
                    });
}

}  // namespace pipeline
