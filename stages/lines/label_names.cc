#include "stages/lines/label_names.h"

#include <memory>

#include "base/byte_reader.h"
#include "base/str.h"
#include "formats/label_names.h"
#include "storage/local_file.h"

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

}  // namespace pipeline
