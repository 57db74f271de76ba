#include "plugins/train/model_file.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/config/trainer_keys.h"

namespace pipeline {

namespace {

constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::size_t kLongestKind = 40;        // characters
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

/// The trainer knows some types of models, and plain rotary positions alone. Older config.json have
/// `rope_scaling`, newer ones `rope_parameters`, with the rate.
Status CheckConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const Json settings, ReadObject(path));
  const std::string_view type = settings["model_type"].AsString("llama");
  const Json& types = TrainerKeys()["model_types"];
  if (!types.Has(type)) {
    std::string known;
    for (const auto& [name, family] : types.AsObject()) known += StrCat(known.empty() ? "" : ", ", name);
    return Unusable(path, StrCat("has model_type ", type.substr(0, kLongestKind),
                                 ", and the trainer begins with ", known));
  }
  if (type != "llama") return {};
  if (!settings["rope_scaling"].is_null())
    return Unusable(
        path,
        "has rope_scaling, and the trainer knows plain rotary positions alone; begin with another model");
  const std::string_view kind = settings["rope_parameters"]["rope_type"].AsString("default");
  if (kind == "default") return {};
  return Unusable(path, StrCat("has rope_parameters of rope_type ", kind.substr(0, kLongestKind),
                               ", and the trainer knows `default` alone; begin with another model"));
}

/// Returns the name of the file at `path`. kInvalidArgument: it is no path of this machine. The message shows
/// no URL, which may have secrets.
Result<std::string_view> NameOf(std::string_view path, std::string_view input) {
  if (path.find("://") == std::string_view::npos) return path.substr(path.rfind('/') + 1);
  return Status(Code::kInvalidArgument,
                StrCat(input,
                       ": is a URL, and the trainer reads files of this machine; copy the directory here "
                       "(`pipe cp`, for a bucket), and write its plain path"));
}

}  // namespace

Result<std::vector<std::string>> OtherFilesOfModel(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string_view name, NameOf(path, "init_from"));
  const std::string directory = path.substr(0, path.size() - name.size());
  if (name != kWeights && name != kIndex)
    return Unusable(path, StrCat("is not ", kWeights, " or ", kIndex,
                                 ", which the trainer reads; of a model with other weights (.bin, .pt), "
                                 "`save_pretrained` of transformers makes them"));
  RETURN_IF_ERROR(CheckConfig(directory + "config.json"));
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

Result<std::vector<std::string>> OtherFilesOfTokenizer(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string_view name, NameOf(path, "tokenizer"));
  if (IsTokenizerFile(name)) return std::vector<std::string>();
  return Status(Code::kInvalidArgument,
                StrCat("tokenizer: ", path, " must have the name ", kTokenizerFiles[0], " or ",
                       kTokenizerFiles[1], ", as in the directory of a tokenizer and in an export"));
}

}  // namespace pipeline
