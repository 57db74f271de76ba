#include "plugins/train/checkpoint_part.h"

#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "base/words.h"
#include "plugins/train/checkpoint_marker.h"

namespace pipeline {

namespace {

constexpr std::string_view kRecordEnd = ".json";
constexpr int kAttemptDigits = 5;

Status Malformed(std::string_view where, std::string_view what) {
  return Status(Code::kDataLoss, StrCat(where, ": is no ", what));
}

/// Digits alone, at least `least` of them; absent for any other text.
std::optional<std::int64_t> ParseDigits(std::string_view text, std::size_t least) {
  const auto number = ParseNumber<std::int64_t>(text);
  return number && *number >= 0 && text.size() >= least ? number : std::nullopt;
}

}  // namespace

Json FilesToJson(const std::vector<FileFacts>& files) {
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
                kRecordEnd);
}

std::string PartRecord::Encode() const {
  Json json;
  json["pipe_part"] = 1;
  json["step"] = step;
  json["attempt"] = attempt;
  json["host"] = part.host;
  json["hosts"] = hosts;
  json["digest"] = part.Digest();
  json["files"] = FilesToJson(part.files);
  return json.DumpPretty();
}

Result<PartRecord> ParsePartRecord(std::string_view text, std::string_view where) {
  const Result<Json> parsed = Json::Parse(text);
  const Json json = parsed.ok() ? *parsed : Json();
  PartRecord record;
  record.step = json["step"].AsInt(-1);
  record.attempt = json["attempt"].AsInt(-1);
  record.hosts = static_cast<int>(json["hosts"].AsInt(-1));
  record.part.host = static_cast<int>(json["host"].AsInt(-1));
  if (json["pipe_part"].AsInt() != 1 || record.step < 0 || record.attempt < 1 || record.part.host < 0 ||
      record.part.host >= record.hosts)
    return Malformed(where, "record of a part of a checkpoint, of version 1");
  ASSIGN_OR_RETURN(record.part.files, ParseFiles(json["files"], where));
  if (json["digest"].AsString() != record.part.Digest())
    return Status(Code::kDataLoss, StrCat(where, ": names other files than its digest says"));
  return record;
}

std::optional<std::int64_t> StepOfPartRecord(std::string_view name) {
  const std::size_t slash = name.find('/'), dash = name.find('-');
  if (slash == std::string_view::npos || dash == std::string_view::npos || dash < slash ||
      !name.ends_with(kRecordEnd))
    return {};
  const std::string_view host = name.substr(dash + 1, name.size() - kRecordEnd.size() - dash - 1);
  if (!ParseDigits(name.substr(slash + 1, dash - slash - 1), kAttemptDigits) || !ParseDigits(host, 1))
    return {};
  return ParseDigits(name.substr(0, slash), 1);
}

Result<std::optional<LocalPart>> ParseLocalPart(const Json& json, std::string_view where) {
  if (json["pipe_checkpoint"].AsInt() == 1) return std::optional<LocalPart>();
  LocalPart local;
  local.step = json["step"].AsInt(-1);
  local.unfinished = IsUnfinished(json);
  local.fetched = json["fetched"].AsBool();
  local.attempt = json["attempt"].AsInt(-1);
  local.hosts = static_cast<int>(json["hosts"].AsInt(-1));
  local.part.host = static_cast<int>(json["host"].AsInt(-1));
  const bool placed = local.attempt > 0 && local.part.host >= 0 && local.part.host < local.hosts;
  if (json["pipe_checkpoint"].AsInt() != 2 || local.step < 0 || (!local.unfinished && !placed))
    return Malformed(where, "list of a checkpoint's files, of version 1 or 2");
  if (local.unfinished) return std::optional(std::move(local));
  ASSIGN_OR_RETURN(local.part.files, ParseFiles(json["files"], where));
  ASSIGN_OR_RETURN(local.pins, ParsePins(json, where));
  if (json["best"].is_object()) local.best = json["best"];
  return std::optional(std::move(local));
}

}  // namespace pipeline
