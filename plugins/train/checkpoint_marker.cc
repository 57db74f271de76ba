#include "plugins/train/checkpoint_marker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kMarkerEnd = ".json";
constexpr int kAttemptDigits = 5;

Status Malformed(std::string_view where, std::string_view what) {
  return Status(Code::kDataLoss, StrCat(where, ": is no ", what));
}

/// Digits alone, at least `least` of them; absent for any other text.
std::optional<std::int64_t> ParseDigits(std::string_view text, std::size_t least) {
  const auto number = ParseNumber<std::int64_t>(text);
  return number && *number >= 0 && text.size() >= least ? number : std::nullopt;
}

/// Parses a number in our own notation, without leading zeros; absent for any other text.
std::optional<std::int64_t> ParseStep(std::string_view text) {
  const auto step = ParseDigits(text, 1);
  return step && StrCat(*step) == text ? step : std::nullopt;
}

/// Reads everything of the record but its files. False: it is no part of an attempt of several hosts.
bool ReadPlace(const Json& json, PartRecord& record) {
  record.step = json["step"].AsInt(-1);
  record.attempt = json["attempt"].AsInt(-1);
  record.hosts = static_cast<int>(json["hosts"].AsInt(-1));
  record.part.host = static_cast<int>(json["host"].AsInt(-1));
  return record.attempt > 0 && record.part.host >= 0 && record.part.host < record.hosts;
}

Json PartToJson(const CheckpointPart& part) {
  return Json::Object{{"host", part.host}, {"digest", part.Digest()}};
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

Json FilesToJson(const std::vector<FileFacts>& files) {
  Json list{Json::Array{}};
  for (const FileFacts& file : files)
    list.Append(Json::Object{{"name", file.name}, {"bytes", file.bytes}, {"crc32c", ShownCrc(file)}});
  return list;
}

Result<std::vector<FileFacts>> ParseFiles(const Json& list, std::string_view where) {
  if (!list.is_array()) return Malformed(where, "list of files");
  std::vector<FileFacts> files;
  for (const Json& entry : list.AsArray()) {
    ASSIGN_OR_RETURN(FileFacts file, ParseFileFacts(entry, "name", where));
    files.push_back(std::move(file));
  }
  return files;
}

std::string DigestOfFiles(const std::vector<FileFacts>& files) {
  return DigestOf(FilesToJson(files).Dump()).ToHex().substr(0, kIdDigits);
}

std::string PartRecord::Name(std::int64_t step, std::int64_t attempt, int host) {
  return StrCat(step, "/", ZeroPadded(static_cast<std::uint64_t>(attempt), kAttemptDigits), "-", host,
                kMarkerEnd);
}

std::string PartRecord::Encode() const {
  Json json = PartToJson(part);
  json["pipe_part"] = 1;
  json["step"] = step;
  json["attempt"] = attempt;
  json["hosts"] = hosts;
  json["files"] = FilesToJson(part.files);
  return json.DumpPretty();
}

Result<PartRecord> ParsePartRecord(std::string_view text, std::string_view where) {
  const Result<Json> parsed = Json::Parse(text);
  const Json json = parsed.ok() ? *parsed : Json();
  PartRecord record;
  if (!ReadPlace(json, record) || json["pipe_part"].AsInt() != 1 || record.step < 0)
    return Malformed(where, "record of a part of a checkpoint, of version 1");
  ASSIGN_OR_RETURN(record.part.files, ParseFiles(json["files"], where));
  if (json["digest"].AsString() != record.part.Digest())
    return Status(Code::kDataLoss, StrCat(where, ": names other files than its digest says"));
  return record;
}

std::optional<std::int64_t> StepOfPartRecord(std::string_view name) {
  const std::size_t slash = name.find('/'), dash = name.find('-');
  if (slash == std::string_view::npos || dash == std::string_view::npos || dash < slash ||
      !name.ends_with(kMarkerEnd))
    return {};
  const std::string_view host = name.substr(dash + 1, name.size() - kMarkerEnd.size() - dash - 1);
  if (!ParseDigits(name.substr(slash + 1, dash - slash - 1), kAttemptDigits) || !ParseDigits(host, 1))
    return {};
  return ParseDigits(name.substr(0, slash), 1);
}

Result<std::optional<LocalPart>> ParseLocalPart(const Json& json, std::string_view where) {
  if (json["pipe_checkpoint"].AsInt() == kWholeCheckpoint) return std::optional<LocalPart>();
  LocalPart local;
  local.unfinished = IsUnfinished(json);
  local.fetched = json["fetched"].AsBool();
  const bool placed = ReadPlace(json, local);
  if (json["pipe_checkpoint"].AsInt() != kCheckpointOfParts || local.step < 0 ||
      (!local.unfinished && !placed))
    return Malformed(where, "list of a checkpoint's files, of version 1 or 2");
  if (local.unfinished) return std::optional(std::move(local));
  ASSIGN_OR_RETURN(local.part.files, ParseFiles(json["files"], where));
  ASSIGN_OR_RETURN(local.pins, ParsePins(json, where));
  if (json["best"].is_object()) local.best = json["best"];
  return std::optional(std::move(local));
}

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
  for (std::string name : NamesIn(directory)) {
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
  for (const CheckpointPart& part : parts) digests.Append(PartToJson(part));
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
  json["pipe_checkpoint"] = by_parts() ? kCheckpointOfParts : kWholeCheckpoint;
  json["step"] = step;
  if (!by_parts()) json["files"] = FilesToJson(files);
  if (by_parts()) {
    json["attempt"] = attempt;
    json["hosts"] = static_cast<std::int64_t>(parts.size());
  }
  for (const CheckpointPart& part : parts) {
    Json entry = PartToJson(part);
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
  const Json& list = version == kCheckpointOfParts ? json["parts"] : json["files"];
  if (version < kWholeCheckpoint || version > kCheckpointOfParts || !json["step"].is_int() ||
      !list.is_array() || list.AsArray().empty())
    return Status(Code::kDataLoss, StrCat(where, ": is no marker of a checkpoint, of version 1 or 2"));
  CheckpointMarker marker;
  marker.step = json["step"].AsInt();
  if (json["best"].is_object()) marker.best = json["best"];
  ASSIGN_OR_RETURN(marker.pinned, ParsePins(json, where));
  if (version == kWholeCheckpoint) {
    ASSIGN_OR_RETURN(marker.files, ParseFiles(list, where));
    return marker;
  }
  marker.attempt = json["attempt"].AsInt(-1);
  RETURN_IF_ERROR(ReadParts(json, where, marker));
  return marker;
}

}  // namespace pipeline
