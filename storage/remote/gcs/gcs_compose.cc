#include <algorithm>
#include <vector>

#include "base/crc32c.h"
#include "base/in_parallel.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "storage/local_names.h"
#include "storage/percent.h"
#include "storage/remote/gcs/gcs_upload.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxParts = 32;  // objects of one request to compose
constexpr int kUploads = 4;              // at the same time
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kChecksumTurns = 5;  // checksums of a source that is changed while it is read
constexpr std::size_t kRoom = 20;  // more bytes for the growing numbers in the names of temporaries

struct Part {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::optional<GcsObject> made;
};

std::vector<Part> Divide(const GcsLocation& location, std::uint64_t size, std::uint64_t part_bytes) {
  const std::uint64_t bytes = std::max(part_bytes, (size + kMaxParts - 1) / kMaxParts);
  const std::size_t slash = location.name.rfind('/') + 1;
  std::vector<Part> parts;
  for (std::uint64_t offset = 0; offset < size; offset += bytes)
    parts.push_back({StrCat(location.name.substr(0, slash), NewTemporaryName(location.name.substr(slash))),
                     offset,
                     std::min(bytes, size - offset),
                     {}});
  return parts;
}

Result<std::uint32_t> CrcOf(const ByteFile& file, const Part& part, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(part.offset, stop));
  std::string piece(kPieceBytes, '\0');
  std::uint32_t crc = 0;
  for (std::uint64_t left = part.size; left > 0;) {
    const std::span<char> wanted(piece.data(),
                                 static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    RETURN_IF_ERROR(ReadExactly(*reader, wanted));
    crc = Crc32c(std::string_view(wanted.data(), wanted.size()), crc);
    left -= wanted.size();
  }
  return crc;
}

/// No other program uses the name of a part, so an object with this name is our own earlier attempt.
Result<std::optional<GcsObject>> UploadPart(const GcsUpload& upload, Spool& spool, const ByteFile& file,
                                            const Part& part, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::uint32_t crc, CrcOf(file, part, stop));
  GcsUpload own = upload;
  own.location.name = part.name;
  own.generation = "0";
  own.key = {};  // the next process uploads parts of its own
  ASSIGN_OR_RETURN(std::optional<GcsObject> made,
                   UploadGcsObject(own, {spool, part.offset, part.size, crc}, stop));
  if (made) return made;
  return StatGcsObject(own.location, stop);
}

Result<std::optional<GcsObject>> Compose(const GcsUpload& upload, const Spool& spool,
                                         const std::vector<Part>& parts, const std::stop_token& stop) {
  const GcsLocation& location = upload.location;
  Json body;
  for (const Part& part : parts) {
    Json source;
    source["name"] = part.name;
    source["generation"] = part.made->generation;
    source["objectPreconditions"]["ifGenerationMatch"] = part.made->generation;
    body["sourceObjects"].Append(source);
  }
  body["destination"]["contentType"] = upload.content_type;
  body["destination"]["crc32c"] = FormatGcsCrc(spool.crc32c().value());
  body["destination"]["metadata"][kUploadMark] = upload.mark;
  GcsOperation operation(*location.client, location.Where(), stop);
  std::string url = location.client->ObjectUrl(
      location.bucket, location.name,
      StrCat("ifGenerationMatch=", upload.generation, "&fields=", PercentEncode(kObjectFields)));
  url.insert(url.find('?'), "/compose");
  const HttpRequest request = {.method = "POST",
                               .url = std::move(url),
                               .headers = {{"Content-Type", "application/json; charset=UTF-8"}},
                               .body = body.Dump()};
  ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send(request));
  if (answer.status == 412) return std::nullopt;
  if (answer.status >= 300) return operation.Failure(answer.error);
  ASSIGN_OR_RETURN(GcsObject object, ParseGcsObject(answer.body));
  if (object.size == spool.size() && object.crc32c == spool.crc32c()) return object;
  RETURN_IF_ERROR(RemoveGcsObject(location, {}));
  return Status(Code::kDataLoss,
                StrCat(location.Where(),
                       ": its parts made other bytes than were written; it was removed; write it again"));
}

}  // namespace

Result<bool> CanCompose(const GcsLocation& location) {
  // The names of the parts are longer than the name of the object.
  const std::size_t above = location.name.rfind('/') + 1;
  if (above + NewTemporaryName(std::string_view(location.name).substr(above)).size() + kRoom > kMaxNameBytes)
    return false;
  GcsOperation operation(*location.client, StrCat("gs://", location.bucket), {});
  const std::string url = location.client->BucketUrl(
      location.bucket, StrCat("fields=", PercentEncode("storageClass,softDeletePolicy,retentionPolicy,"
                                                       "defaultEventBasedHold")));
  ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send({.url = url}));
  if (answer.status >= 300) return false;
  const Result<Json> bucket = Json::Parse(answer.body);
  if (!bucket.ok()) return false;
  const std::string_view soft = (*bucket)["softDeletePolicy"]["retentionDurationSeconds"].AsString("0");
  if (soft != "0")
    LogInfo(StrCat(operation.where(), ": soft delete is on: parts of very large objects are billed for ",
                   soft, " seconds after they are removed"));
  return (*bucket)["storageClass"].AsString() == "STANDARD" && !bucket->Has("retentionPolicy") &&
         !(*bucket)["defaultEventBasedHold"].AsBool();
}

Result<std::optional<GcsObject>> ComposeGcsObject(const GcsUpload& upload, Spool& spool,
                                                  std::uint64_t part_bytes, std::stop_token stop) {
  const GcsLocation& location = upload.location;
  for (int turn = 0;; ++turn) {
    RETURN_IF_ERROR(spool.Checksum(stop).status());  // once, before several threads read it
    ASSIGN_OR_RETURN(const bool is_of_one_state, spool.Settle(stop));
    if (is_of_one_state) break;  // the checksum then shows each later change
    if (turn == kChecksumTurns) return ChangedAgainAndAgain(spool.Where());
  }
  std::vector<Part> parts = Divide(location, spool.size(), part_bytes);
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, spool.Open());
  const Status uploaded = InParallel(parts.size(), kUploads, [&](std::size_t at) -> Status {
    ASSIGN_OR_RETURN(parts[at].made, UploadPart(upload, spool, *file, parts[at], stop));
    if (parts[at].made) return {};
    return Status(Code::kUnavailable, StrCat(location.Where(), ": a part of it disappeared; write it again"));
  });
  Result<std::optional<GcsObject>> object = std::optional<GcsObject>();
  if (uploaded.ok())
    object = Compose(upload, spool, parts, stop);
  else
    object = uploaded;
  for (const Part& part : parts) {
    const Status removed = RemoveGcsObject({location.client, location.bucket, part.name}, {});
    if (!removed.ok()) LogWarning(StrCat(removed.message(), "; the next run over this place removes it"));
  }
  return object;
}

}  // namespace pipeline
