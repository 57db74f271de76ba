#include "plugins/train/checkpoint_marker.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kMarkerEnd = ".json";

/// Parses a number in our own notation, without leading zeros; absent for any other text.
std::optional<std::int64_t> ParseStep(std::string_view text) {
  const auto step = ParseNumber<std::int64_t>(text);
  return step && *step >= 0 && StrCat(*step) == text ? step : std::nullopt;
}

/// Every host has one part, in the order of the hosts, and no file is in two of them.
Status ReadParts(const Json& json, std::string_view where, CheckpointMarker& marker) {
  std::set<std::string> names;
  for (const Json& entry : json["parts"].AsArray()) {
    CheckpointPart part;
    part.host = static_cast<int>(entry["host"].AsInt(-1));
    ASSIGN_OR_RETURN(part.files, ParseFiles(entry["files"], where));
    bool wrong =
        part.host != static_cast<int>(marker.parts.size()) || entry["digest"].AsString() != part.Digest();
    for (const FileFacts& file : part.files) wrong |= !names.insert(file.name).second;
    if (wrong)
      return Status(Code::kDataLoss, StrCat(where, ": the part of host ", marker.parts.size(),
                                            " is missing, damaged, or has a file of another part"));
    marker.parts.push_back(std::move(part));
  }
  if (json["hosts"].AsInt(-1) == static_cast<std::int64_t>(marker.parts.size()) && marker.attempt > 0 &&
      !names.empty())
    return {};
  return Status(Code::kDataLoss, StrCat(where, ": has ", marker.parts.size(), " parts, and says that it has ",
                                        json["hosts"].AsInt(-1)));
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
  if (after == kMarkerEnd) return object;
  if (!after.starts_with('/') || !StaysBelow(after.substr(1))) return {};
  object.file = after.substr(1);
  return object;
}

std::set<std::int64_t> StepsBelow(const std::string& directory) {
  std::set<std::int64_t> steps;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(kMarkerEnd)) name.resize(name.size() - kMarkerEnd.size());
    if (const std::optional<std::int64_t> step = ParseStep(name)) steps.insert(*step);
  }
  return steps;
}

Status NoneCanBeRead(std::string_view place, std::size_t checkpoints) {
  return Status(Code::kDataLoss, StrCat(place, ": none of ", checkpoints,
                                        " checkpoints can be read; remove them to start over"));
}

CheckpointName CheckpointMarker::Name() const {
  if (!by_parts()) return {step, DigestOfFiles(files)};
  Json digests{Json::Array{}};
  for (const CheckpointPart& part : parts) {
    Json entry;
    entry["host"] = part.host;
    entry["digest"] = part.Digest();
    digests.Append(std::move(entry));
  }
  return {step, DigestOf(digests.Dump()).ToHex().substr(0, kIdDigits)};
}

std::vector<FileFacts> CheckpointMarker::AllFiles() const {
  std::vector<FileFacts> all = files;
  for (const CheckpointPart& part : parts) all.insert(all.end(), part.files.begin(), part.files.end());
  return all;
}

std::vector<CheckpointMarker::Folder> CheckpointMarker::Folders() const {
  if (!by_parts()) return {{Name().Path(), &files}};
  std::vector<Folder> folders;
  for (const CheckpointPart& part : parts) folders.push_back({StrCat(step, "/", part.Digest()), &part.files});
  return folders;
}

Json CheckpointMarker::ToJson() const {
  Json json;
  json["pipe_checkpoint"] = by_parts() ? 2 : 1;
  json["step"] = step;
  if (!by_parts()) json["files"] = FilesToJson(files);
  if (by_parts()) {
    json["attempt"] = attempt;
    json["hosts"] = static_cast<std::int64_t>(parts.size());
  }
  for (const CheckpointPart& part : parts) {
    Json entry;
    entry["host"] = part.host;
    entry["digest"] = part.Digest();
    entry["files"] = FilesToJson(part.files);
    json["parts"].Append(std::move(entry));
  }
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
  const std::int64_t version = json["pipe_checkpoint"].AsInt();
  const Json& list = version == 2 ? json["parts"] : json["files"];
  if (version < 1 || version > 2 || !json["step"].is_int() || !list.is_array() || list.AsArray().empty())
    return Status(Code::kDataLoss, StrCat(where, ": is no marker of a checkpoint, of version 1 or 2"));
  CheckpointMarker marker;
  marker.step = json["step"].AsInt();
  if (json["best"].is_object()) marker.best = json["best"];
  ASSIGN_OR_RETURN(marker.pinned, ParsePins(json, where));
  if (version == 1) {
    ASSIGN_OR_RETURN(marker.files, ParseFiles(list, where));
    return marker;
  }
  marker.attempt = json["attempt"].AsInt(-1);
  RETURN_IF_ERROR(ReadParts(json, where, marker));
  return marker;
}

}  // namespace pipeline
