#include "plugins/train/model_file.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "base/whole_file.h"

namespace pipeline {

namespace {

constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::uintmax_t kMostJson = 64 << 20;  // bytes

Status Unusable(const std::string& path, std::string_view why) {
  return Status(Code::kInvalidArgument, StrCat("init_from: ", path, ": ", why));
}

/// Null: there is no such file.
Result<Json> ReadObject(const std::string& path) {
  std::error_code error;
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); !error && size > kMostJson)
    return Unusable(path, "is larger than 64 MiB, which such a file never is");
  const Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() == Code::kNotFound) return Json();
  RETURN_IF_ERROR(text.status());
  Result<Json> json = Json::Parse(*text);
  if (!json.ok()) return Unusable(path, StrCat("is not JSON: ", json.status().message()));
  if (!json->is_object()) return Unusable(path, "is no object of JSON");
  return json;
}

/// The trainer knows plain rotary positions alone. Older config.json have `rope_scaling`, newer ones
/// `rope_parameters`, with the rate.
Status CheckPositions(const std::string& path) {
  ASSIGN_OR_RETURN(const Json settings, ReadObject(path));
  const Json& scaling = settings["rope_scaling"];
  const std::string_view kind = settings["rope_parameters"]["rope_type"].AsString("default");
  if (scaling.is_null() && kind == "default") return {};
  return Unusable(path, StrCat("its rotary positions are scaled (",
                               scaling.is_null() ? StrCat("rope_parameters.rope_type: ", kind)
                                                 : StrCat("rope_scaling: ", scaling.Dump()),
                               "), and the trainer knows plain ones alone; begin with another model"));
}

}  // namespace

Result<std::vector<std::string>> OtherFilesOfModel(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  const std::string_view name = std::string_view(path).substr(directory.size());
  if (name != kWeights && name != kIndex)
    return Unusable(path, StrCat("is not ", kWeights, " or ", kIndex,
                                 ", which the trainer reads; of a model with other weights (.bin, .pt), "
                                 "`save_pretrained` of transformers makes them"));
  if (path.find("://") != std::string::npos)
    return Unusable(path,
                    "is not on this machine, where the trainer reads it; copy the directory (`pipe cp`, for "
                    "a bucket) and name the copy");
  RETURN_IF_ERROR(CheckPositions(directory + "config.json"));
  std::vector<std::string> paths;
  if (name == kWeights) return paths;
  ASSIGN_OR_RETURN(const Json index, ReadObject(path));
  if (index.is_null()) return paths;
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].AsObject()) names.emplace(file.AsString());
  if (names.empty()) return Unusable(path, "its `weight_map` names no file");
  for (const std::string& file : names) {
    if (file.find('/') != std::string::npos || !file.ends_with(".safetensors"))
      return Unusable(path, StrCat("its `weight_map` names '", file,
                                   "', and only files *.safetensors in the same directory are read"));
    paths.push_back(directory + file);
  }
  return paths;
}

}  // namespace pipeline
