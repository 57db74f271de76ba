#include "plugins/train/checkpoint_marker.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/digest.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kIdDigits = 16;
constexpr std::string_view kEnd = ".json";

Json ListOf(const std::vector<FileFacts>& files) {
  Json list{Json::Array{}};
  for (const FileFacts& file : files) {
    Json entry;
    entry["name"] = file.name;
    entry["bytes"] = file.bytes;
    entry["crc32c"] = ShownCrc(file);
    list.Append(std::move(entry));
  }
  return list;
}

/// Parses a number in our own notation, without leading zeros; absent for any other text.
std::optional<std::int64_t> ParseStep(std::string_view text) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 0 || StrCat(step) != text) return {};
  return step;
}

}  // namespace

std::string CheckpointName::Path() const { return StrCat(step, "/", id); }

std::optional<CheckpointObject> ParseCheckpointObject(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {};
  const std::optional<std::int64_t> step = ParseStep(name.substr(0, slash));
  const std::string_view rest = name.substr(slash + 1);
  const std::string_view id = rest.substr(0, kIdDigits);
  if (!step || id.size() != kIdDigits || id.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return {};
  const std::string_view after = rest.substr(kIdDigits);
  CheckpointObject object{{*step, std::string(id)}, {}};
  if (after == kEnd) return object;
  if (!after.starts_with('/') || !StaysBelow(after.substr(1))) return {};
  object.file = after.substr(1);
  return object;
}

CheckpointName CheckpointMarker::Name() const {
  return {step, DigestOf(ListOf(files).Dump()).ToHex().substr(0, kIdDigits)};
}

Json CheckpointMarker::ToJson() const {
  Json json;
  json["pipe_checkpoint"] = 1;
  json["step"] = step;
  json["files"] = ListOf(files);
  if (best.is_object()) json["best"] = best;
  for (const std::string& name : pinned) json["pinned"].Append(name);
  return json;
}

Result<std::vector<std::string>> ParsePins(const Json& json, std::string_view where) {
  std::vector<std::string> pins;
  if (!json.Has("pinned")) return pins;
  const Status wrong(Code::kDataLoss, StrCat(where, ": `pinned` is no list of the names that there are"));
  if (!json["pinned"].is_array()) return wrong;
  for (const Json& name : json["pinned"].AsArray()) {
    if (std::find(std::begin(kPins), std::end(kPins), name.AsString()) == std::end(kPins)) return wrong;
    pins.emplace_back(name.AsString());
  }
  return pins;
}

bool IsUnfinished(const Json& digests) { return digests["unfinished"].AsBool(); }

Result<CheckpointMarker> ParseCheckpointMarker(std::string_view text, std::string_view where) {
  const Result<Json> json = Json::Parse(text);
  return ReadCheckpointMarker(json.ok() ? *json : Json(), where);
}

Result<CheckpointMarker> ReadCheckpointMarker(const Json& json, std::string_view where) {
  if (json["pipe_checkpoint"].AsInt() != 1 || !json["step"].is_int() || !json["files"].is_array() ||
      json["files"].AsArray().empty())
    return Status(Code::kDataLoss, StrCat(where, ": is no marker of a checkpoint, of version 1"));
  CheckpointMarker marker;
  marker.step = json["step"].AsInt();
  if (json["best"].is_object()) marker.best = json["best"];
  ASSIGN_OR_RETURN(marker.pinned, ParsePins(json, where));
  for (const Json& entry : json["files"].AsArray()) {
    ASSIGN_OR_RETURN(FileFacts file, ParseFileFacts(entry, "name", where));
    marker.files.push_back(std::move(file));
  }
  return marker;
}

}  // namespace pipeline
