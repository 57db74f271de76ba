#include "stages/export/tfds/tfds.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/json.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kFileFormat = "tfrecord";
constexpr std::string_view kTemplate = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";

constexpr std::string_view kInfoFields[] = {
    "citation",     "configDescription",  "configName",   "description", "disableShuffling",
    "downloadSize", "features",           "fileFormat",   "location",    "moduleName",
    "name",         "redistributionInfo", "releaseNotes", "splits",      "supervisedKeys",
    "version"};
constexpr std::string_view kSplitFields[] = {"filepathTemplate", "name",         "numBytes",
                                             "numShards",        "shardLengths", "statistics"};

Status Refuse(std::string_view field, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat(kTfdsInfoFile, ": ", field, ": ", why));
}

Status CheckFields(const Json& message, std::span<const std::string_view> known, std::string_view where) {
  if (!message.is_object()) return Refuse(where, "not an object");
  for (const auto& [field, value] : message.AsObject())
    if (std::find(known.begin(), known.end(), field) == known.end())
      return Refuse(StrCat(where, ".", field),
                    "unknown field: TensorFlow Datasets does not load such a file");
  return {};
}

/// Returns a string member; empty: absent.
Result<std::string> Text(const Json& message, std::string_view field) {
  const Json& value = message[field];
  if (!value.is_null() && !value.is_string()) return Refuse(field, "not a string");
  return std::string(value.AsString());
}

/// Returns an int64 of the JSON of Protocol Buffers: a decimal string, or a number.
Result<std::uint64_t> Count(const Json& value, std::string_view field) {
  std::int64_t number = -1;
  if (value.is_int()) {
    number = value.AsInt();
  } else {
    number = ParseNumber<std::int64_t>(value.AsString()).value_or(-1);
  }
  if (number < 0) return Refuse(field, "not a count");
  return static_cast<std::uint64_t>(number);
}

Json ToJson(const TfdsSplit& split) {
  Json json;
  json["name"] = split.name;
  json["filepathTemplate"] = kTemplate;
  json["numBytes"] = std::to_string(split.bytes);
  json["shardLengths"] = Json::Array{};
  for (const std::uint64_t length : split.shard_lengths) json["shardLengths"].Append(std::to_string(length));
  return json;
}

Result<TfdsSplit> ParseSplit(const Json& json) {
  RETURN_IF_ERROR(CheckFields(json, kSplitFields, "splits"));
  TfdsSplit split;
  ASSIGN_OR_RETURN(split.name, Text(json, "name"));
  if (split.name.empty()) return Refuse("splits.name", "missing");
  ASSIGN_OR_RETURN(const std::string path, Text(json, "filepathTemplate"));
  if (!path.empty() && path != kTemplate) return Refuse("splits.filepathTemplate", StrCat("not ", kTemplate));
  if (json.Has("numBytes")) {
    ASSIGN_OR_RETURN(split.bytes, Count(json["numBytes"], "splits.numBytes"));
  }
  if (!json["shardLengths"].is_array()) return Refuse("splits.shardLengths", "missing, or not an array");
  for (const Json& length : json["shardLengths"].AsArray()) {
    ASSIGN_OR_RETURN(const std::uint64_t records, Count(length, "splits.shardLengths"));
    split.shard_lengths.push_back(records);
  }
  return split;
}

bool IsLower(char c) { return 'a' <= c && c <= 'z'; }
bool IsUpper(char c) { return 'A' <= c && c <= 'Z'; }
bool IsDigit(char c) { return '0' <= c && c <= '9'; }

}  // namespace

std::string TfdsInfoJson(const TfdsInfo& info) {
  Json json;
  json["name"] = info.name;
  json["version"] = info.version;
  json["fileFormat"] = kFileFormat;
  if (!info.description.empty()) json["description"] = info.description;
  json["splits"] = Json::Array{};
  for (const TfdsSplit& split : info.splits) json["splits"].Append(ToJson(split));
  return json.DumpPretty();
}

Result<TfdsInfo> ParseTfdsInfo(std::string_view text) {
  Result<Json> parsed = Json::Parse(text);
  if (!parsed.ok()) return std::move(parsed).status().Annotate(kTfdsInfoFile);
  const Json& json = *parsed;
  RETURN_IF_ERROR(CheckFields(json, kInfoFields, "DatasetInfo"));

  TfdsInfo info;
  ASSIGN_OR_RETURN(info.name, Text(json, "name"));
  if (info.name.empty()) return Refuse("name", "missing");
  ASSIGN_OR_RETURN(info.version, Text(json, "version"));
  if (info.version.empty()) return Refuse("version", "missing");
  ASSIGN_OR_RETURN(info.description, Text(json, "description"));
  ASSIGN_OR_RETURN(const std::string config, Text(json, "configName"));
  if (!config.empty()) return Refuse("configName", "data sets with a configuration are not supported");
  ASSIGN_OR_RETURN(const std::string format, Text(json, "fileFormat"));
  if (!format.empty() && format != kFileFormat) return Refuse("fileFormat", StrCat("not ", kFileFormat));

  if (json.Has("splits") && !json["splits"].is_array()) return Refuse("splits", "not an array");
  for (const Json& element : json["splits"].AsArray()) {
    ASSIGN_OR_RETURN(TfdsSplit split, ParseSplit(element));
    for (const TfdsSplit& other : info.splits)
      if (other.name == split.name) return Refuse("splits.name", StrCat("'", split.name, "' comes twice"));
    info.splits.push_back(std::move(split));
  }
  return info;
}

std::string TfdsFeaturesJson(const TfdsFeatures& features) {
  Json json;
  json["pythonClassName"] = "tensorflow_datasets.core.features.features_dict.FeaturesDict";
  Json& all = json["featuresDict"]["features"];
  for (const std::string& name : features.texts) {
    all[name]["pythonClassName"] = "tensorflow_datasets.core.features.text_feature.Text";
    all[name]["text"] = Json::Object{};
  }
  if (features.labels > 0) {
    Json& label = all[kTfdsLabelFeature];
    label["pythonClassName"] = "tensorflow_datasets.core.features.class_label_feature.ClassLabel";
    label["classLabel"]["numClasses"] = std::to_string(features.labels);
  }
  return json.DumpPretty();
}

Result<TfdsFeatures> ParseTfdsFeatures(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  TfdsFeatures features;
  features.texts.clear();
  for (const auto& [name, feature] : json["featuresDict"]["features"].AsObject()) {
    if (!feature.Has("classLabel")) {
      features.texts.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(const std::uint64_t labels, Count(feature["classLabel"]["numClasses"], "numClasses"));
    features.labels = static_cast<std::size_t>(labels);
  }
  // If the parsed features do not give the same JSON again, the file has other features as well.
  const Result<Json> again = Json::Parse(TfdsFeaturesJson(features));
  if (!again.ok() || !(*again == json) || features.texts.empty())
    return Status(Code::kInvalidArgument,
                  StrCat(kTfdsFeaturesFile, ": describes records other than texts with or without a label"));
  return features;
}

std::string TfdsShardName(std::string_view dataset, std::string_view split, std::uint32_t shard,
                          std::uint32_t shards) {
  const int digits = std::max(5, static_cast<int>(std::to_string(shards).size()));
  return StrCat(dataset, "-", split, ".", kFileFormat, "-", ZeroPadded(shard, digits), "-of-",
                ZeroPadded(shards, digits));
}

Status CheckTfdsName(std::string_view name) {
  const bool good = !name.empty() && IsLower(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '_';
  });
  if (good && IsPublicTfdsName(name))
    return Status(
        Code::kInvalidArgument,
        StrCat("name '", name, "': TensorFlow Datasets has a data set of that name, and seqio refuses a ",
               "name that exists twice; choose another, e.g. my_", name));
  if (good) return {};
  return Status(
      Code::kInvalidArgument,
      StrCat("name '", name, "': TensorFlow Datasets finds only names in lower snake case; use a-z, 0-9 ",
             "and _, beginning with a letter"));
}

Status CheckTfdsVersion(std::string_view version) {
  if (version.find('*') != std::string_view::npos)
    return Status(Code::kInvalidArgument,
                  StrCat("version '", version, "': a loader may ask for any that fits, as in ",
                         "tfds.load(\"NAME:1.*.*\"), but a data set has one; write it, e.g. 1.0.0"));
  int parts = 0;
  for (std::string_view rest = version;; ++parts) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    const bool number = !part.empty() && part.size() <= 9 && std::all_of(part.begin(), part.end(), IsDigit);
    if (!number || (part[0] == '0' && part.size() > 1)) break;
    if (part.size() == rest.size()) {
      if (parts == 2) return {};
      break;
    }
    rest.remove_prefix(part.size() + 1);
  }
  return Status(Code::kInvalidArgument,
                StrCat("version '", version, "': not three numbers without leading zeros, like 1.0.0"));
}

Status CheckTfdsSplit(std::string_view split) {
  const bool good = !split.empty() && !IsDigit(split[0]) &&
                    std::all_of(split.begin(), split.end(),
                                [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_'; });
  if (!good)
    return Status(Code::kInvalidArgument,
                  StrCat("split '", split, "': use letters, digits and _, beginning with no digit"));
  if (split == "all")
    return Status(Code::kInvalidArgument,
                  "split 'all': TensorFlow Datasets takes it for all splits together; choose another name");
  return {};
}

Status CheckTfdsFeatures(const std::vector<std::string>& texts, bool labelled) {
  if (texts.empty())
    return Status(Code::kInvalidArgument, "features: an empty list; name the feature of each text");
  std::set<std::string_view> seen;
  if (labelled) seen.insert(kTfdsLabelFeature);
  for (const std::string& name : texts) {
    const bool good = !name.empty() && !IsDigit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
      return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_';
    });
    if (!good)
      return Status(Code::kInvalidArgument,
                    StrCat("features: '", name, "': use letters, digits and _, beginning with no digit"));
    if (!seen.insert(name).second)
      return Status(
          Code::kInvalidArgument,
          StrCat("features: '", name, "' ",
                 labelled && name == kTfdsLabelFeature ? "is the number of the label" : "comes twice"));
  }
  return {};
}

}  // namespace pipeline
