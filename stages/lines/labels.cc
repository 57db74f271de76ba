#include "stages/lines/labels.h"

#include <memory>

#include "base/byte_reader.h"
#include "base/str.h"
#include "formats/label_names.h"
#include "storage/local_file.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxFileBytes = 64 << 20;

Result<std::vector<std::string>> ReadNames(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  if (file->size() > kMaxFileBytes)
    return Status(
        Code::kInvalidArgument,
        StrCat(path, ": has more than 64 MiB; is it a file with the name of a label on each line?"));
  ASSIGN_OR_RETURN(const std::string text, ReadBytes(*file, 0, file->size()));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // editors write it; it is no part of a name
  std::string_view lines = text;
  if (lines.starts_with(kByteOrderMark)) lines.remove_prefix(kByteOrderMark.size());
  Result<std::vector<std::string>> names = ParseLabelNames(lines);
  if (!names.ok()) return std::move(names).status().Annotate(path);
  return names;
}

constexpr std::string_view kUnknownLabelKey = "on_unknown_label";
constexpr std::string_view kUnknownLabel = "dropped_unknown_label";

}  // namespace

std::vector<ConfigKey> LabelKeys(std::string_view help_of_labels) {
  return {
      {"labels", ValueType::kStrings, "~", help_of_labels},
      {"labels_file", ValueType::kString, "~",
       "Instead of `labels`, a file with a name on each line, like TFDS's `label.labels.txt`.",
       Effect::kNone},
  };
}

bool HasLabels(const Json& config) { return config.Has("labels") || config.Has("labels_file"); }

Status CheckLabelKeys(const Json& config) {
  if (config.Has("labels") && config.Has("labels_file"))
    return Status(Code::kInvalidArgument, "labels and labels_file: name the labels in one of the two");
  if (config.Has("labels_file") && config["labels_file"].AsString().empty())
    return Status(Code::kInvalidArgument, "labels_file: empty; name a file");
  if (!config.Has("labels")) return {};
  std::vector<std::string> names;
  for (const Json& label : config["labels"].AsArray()) names.emplace_back(label.AsString());
  return CheckLabelNames(names);
}

Result<std::vector<StageFile>> LabelFiles(const Json& config) {
  std::vector<StageFile> files;
  if (config.Has("labels_file"))
    files.push_back({std::string(kLabelsSource), std::string(config["labels_file"].AsString())});
  return files;
}

Result<std::vector<std::string>> LabelNames(const Json& config) {
  if (config.Has("labels_file")) return ReadNames(std::string(config["labels_file"].AsString()));
  std::vector<std::string> names;
  for (const Json& label : config["labels"].AsArray()) names.emplace_back(label.AsString());
  return names;
}

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
