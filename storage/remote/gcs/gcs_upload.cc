#include "storage/remote/gcs/gcs_upload.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "storage/percent.h"
#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

constexpr std::string_view kJsonType = "application/json; charset=UTF-8";
/// A server that loses so many sessions does not accept this object.
constexpr int kMaxSessions = 50;
constexpr int kMaxChanges = 5;
// Every request of a session except the last has a multiple of it.
constexpr std::uint64_t kQuantum = 256 << 10;
/// While a file of another machine is sent, its checksum is recorded each time that so many bytes were read.
/// A process that resumes the session reads no more of the front than this again. The bucket has fewer bytes
/// than were read; the network holds the difference.
constexpr std::uint64_t kNoteEvery = 8 << 20;
constexpr std::size_t kMaxNotes = 16;

std::string Query(const GcsUpload& upload, std::string_view type) {
  return StrCat("uploadType=", type, "&ifGenerationMatch=", upload.generation,
                "&fields=", PercentEncode(kObjectFields));
}

std::optional<std::uint32_t> KnownCrc(const GcsUploadBytes& bytes) {
  return bytes.crc32c ? bytes.crc32c : bytes.spool.crc32c();
}

/// Reads the bytes that have not been read yet.
Result<std::uint32_t> CrcOf(const GcsUploadBytes& bytes, const std::stop_token& stop) {
  if (bytes.crc32c) return *bytes.crc32c;
  return bytes.spool.Checksum(stop);
}

/// Returns the resource that describes the future object.
std::string Resource(const GcsUpload& upload, const GcsUploadBytes& bytes) {
  Json resource;
  resource["name"] = upload.location.name;
  resource["contentType"] = upload.content_type;
  if (const auto crc = KnownCrc(bytes)) resource["crc32c"] = FormatGcsCrc(*crc);
  resource["metadata"][kUploadMark] = upload.mark;
  return resource.Dump();
}

/// Returns whether the server found other bytes than were announced; our copy then shows which side is wrong.
bool IsWrongHash(const GcsError& error) {
  if (error.status != 400) return false;
  for (const std::string_view word : {"CRC32C", "crc32c", "MD5", "hash", "checksum"})
    if (error.message.find(word) != std::string::npos) return true;
  return false;
}

Status DamagedOnTheWay(GcsOperation& operation, const GcsUploadBytes& bytes) {
  RETURN_IF_ERROR(bytes.spool.Check(operation.stop()));
  return operation.Unavailable("the bytes were damaged on their way there");
}

/// Returns the object in an answer, which must have the bytes that were sent.
Result<std::optional<GcsObject>> Compare(const GcsUpload& upload, const GcsUploadBytes& bytes,
                                         GcsOperation& operation, std::string_view body) {
  Result<GcsObject> object = ParseGcsObject(body);
  if (!object.ok()) return std::move(object).status().Annotate(operation.where());
  ASSIGN_OR_RETURN(const std::uint32_t crc, CrcOf(bytes, operation.stop()));
  if (object->size == bytes.size && object->crc32c.value_or(crc) == crc)
    return std::optional(std::move(object).value());
  // Nobody may find the object. If it cannot be removed, the message below says so.
  const std::string url = upload.location.client->ObjectUrl(upload.location.bucket, upload.location.name,
                                                            StrCat("generation=", object->generation));
  const Result<GcsOperation::Answer> removed = operation.Send({.method = "DELETE", .url = url});
  return Status(Code::kDataLoss,
                StrCat(operation.where(), ": the bucket took other bytes than were sent, ",
                       removed.ok() && removed->status < 300 ? "they were removed" : "remove them",
                       "; write it again"));
}

Result<std::optional<GcsObject>> UploadWhole(const GcsUpload& upload, const GcsUploadBytes& bytes,
                                             const std::stop_token& stop) {
  GcsOperation operation(*upload.location.client, upload.location.Where(), stop);
  const std::string border = StrCat("pipe-", upload.mark);
  HttpRequest request = {
      .method = "POST",
      .url = upload.location.client->UploadUrl(upload.location.bucket, Query(upload, "multipart")),
      .headers = {{"Content-Type", StrCat("multipart/related; boundary=", border)}}};
  request.body = StrCat("--", border, "\r\nContent-Type: ", kJsonType, "\r\n\r\n", Resource(upload, bytes),
                        "\r\n--", border, "\r\nContent-Type: ", upload.content_type, "\r\n\r\n");
  const std::size_t head = request.body.size();
  const std::string tail = StrCat("\r\n--", border, "--\r\n");
  request.body.reserve(head + bytes.size + tail.size());
  request.body.resize(head + bytes.size);
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, bytes.spool.Open());
  RETURN_IF_ERROR(ReadAt(*file, bytes.offset, std::span(request.body).subspan(head), stop));
  request.body.append(tail);
  for (;;) {
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, operation.Send(request));
    if (answer.status == 412) return std::nullopt;
    Status failure;
    if (answer.status < 300) {
      Result<std::optional<GcsObject>> object = Compare(upload, bytes, operation, answer.body);
      if (object.ok() || object.status().code() != Code::kUnavailable) return object;
      failure = std::move(object).status();
    } else {
      failure =
          IsWrongHash(answer.error) ? DamagedOnTheWay(operation, bytes) : operation.Failure(answer.error);
    }
    RETURN_IF_ERROR(operation.Again(std::move(failure)));
  }
}

/// An upload that survives failures and lost sessions.
class SessionUpload {
 public:
  SessionUpload(const GcsUpload& upload, const GcsUploadBytes& bytes, std::stop_token stop)
      : upload_(upload),
        bytes_(bytes),
        operation_(*upload.location.client, upload.location.Where(), std::move(stop)) {
    if (!upload_.key.empty() && bytes_.spool.is_remote())
      bytes_.spool.Watch(kNoteEvery, [this](const SpoolSum& sum) { Note(sum); });
  }
  ~SessionUpload() { bytes_.spool.Watch(0, {}); }
  SessionUpload(const SessionUpload&) = delete;
  SessionUpload& operator=(const SessionUpload&) = delete;

  Result<std::optional<GcsObject>> Run() {
    ASSIGN_OR_RETURN(file_, bytes_.spool.Open());
    for (;;) {
      Result<std::optional<GcsObject>> done = Attempt();
      if (done.ok() && finished_) {
        RETURN_IF_ERROR(Leave());
        return done;
      }
      Status failure = done.ok() ? Status() : std::move(done).status();
      if (failure.ok()) continue;  // the session took a part, or ended; the next attempt continues
      const Status again = operation_.Again(std::move(failure));
      if (again.ok()) continue;
      if (!LeaveToTheNext(again)) Cancel();
      return again;
    }
  }

 private:
  /// Sends one request, and starts a session before it if none is open.
  Result<std::optional<GcsObject>> Attempt() {
    if (session_.empty() && !std::exchange(looked_, true)) RETURN_IF_ERROR(TakeOver());
    if (session_.empty()) {
      ASSIGN_OR_RETURN(const bool started, StartSession());
      if (!started) return std::nullopt;
    }
    HttpRequest request = {.method = "PUT", .url = session_.Reveal()};
    const std::uint64_t size = bytes_.size;
    // While the checksum is unknown, all bytes except a rest are sent; the request with the rest has the
    // checksum.
    const std::uint64_t border = (size - 1) / kQuantum * kQuantum;
    const bool is_last = KnownCrc(bytes_) || committed_ >= border;
    const std::uint64_t end = is_last ? size : border;
    const bool asks = !known_;
    known_ = false;  // until an answer has the number of bytes
    if (asks) {
      request.headers = {{"Content-Range", "bytes */*"}};
    } else {
      request.headers = {{"Content-Type", upload_.content_type}};
      if (is_last) {
        ASSIGN_OR_RETURN(const std::uint32_t crc, CrcOf(bytes_, operation_.stop()));
        ASSIGN_OR_RETURN(const bool settled, IsSettled());
        if (!settled) return StartOver();
        request.headers.push_back({"x-goog-hash", StrCat("crc32c=", FormatGcsCrc(crc))});
      }
      // If all bytes arrived and the upload is not finished, the range has no bytes.
      const std::string range = committed_ == size ? StrCat("bytes */", size)
                                                   : StrCat("bytes ", committed_, '-', end - 1, '/', size);
      request.headers.push_back({"Content-Range", range});
      request.file = file_.get();
      request.body_offset = bytes_.offset + committed_;
      request.body_bytes = end - committed_;
    }
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, SendOnce(request));
    if (answer.status == 308) return TakeProgress(answer, asks);
    if (answer.status < 300) {
      Result<std::optional<GcsObject>> object = Compare(upload_, bytes_, operation_, answer.body);
      finished_ = object.ok();
      return object;
    }
    if (answer.status == 412) {
      finished_ = true;
      return std::nullopt;
    }
    if (IsWrongHash(answer.error)) {
      ASSIGN_OR_RETURN(const bool settled, IsSettled());
      if (!settled) return StartOver();
      RETURN_IF_ERROR(Leave());
      sums_.clear();
      return DamagedOnTheWay(operation_, bytes_);
    }
    RETURN_IF_ERROR(Leave());
    if (answer.status == 404 || answer.status == 410)
      return operation_.Unavailable("the upload session is gone");
    return operation_.Failure(answer.error);
  }

  /// Makes a single attempt with the body; the outcome decides the next step.
  Result<GcsOperation::Answer> SendOnce(const HttpRequest& request) {
    constexpr std::size_t kMost = 1 << 20;
    ASSIGN_OR_RETURN(GcsOperation::Answer answer, operation_.SendOnce(request, kMost + 1));
    if (answer.body.size() > kMost) return operation_.Unavailable("the answer is too long");
    return answer;
  }

  /// Takes over the session of an ended process; cancels sessions that would bring another source to this
  /// object.
  Status TakeOver() {
    if (upload_.key.empty()) return {};
    std::vector<Secret> others;
    ASSIGN_OR_RETURN(std::optional<TakenSession> taken, upload_.sessions.TakeOver(upload_.key, others));
    for (const Secret& other : others)
      if (!CancelGcsSession(*upload_.location.client, other).ok()) break;  // the server ends it
    if (!taken) return {};
    session_ = std::move(taken->uri);
    id_ = std::move(taken->id);
    sums_ = std::move(taken->sums);
    committed_ = 0;
    known_ = false;
    return {};
  }

  /// If a checksum cannot be recorded, the next process reads more.
  void Note(const SpoolSum& sum) {
    sums_.push_back(sum);
    if (sums_.size() > kMaxNotes) sums_.erase(sums_.begin());
    if (!id_.empty()) static_cast<void>(upload_.sessions.Note(id_, sums_));
  }

  /// Returns whether the session stays open for another process: this one was stopped, or the server does not
  /// answer.
  bool LeaveToTheNext(const Status& why) {
    const bool is_worth_it = why.code() == Code::kCancelled || why.code() == Code::kUnavailable;
    return is_worth_it && !upload_.key.empty() && !id_.empty() && upload_.sessions.Leave(id_).ok();
  }

  /// False: the precondition does not hold any more.
  Result<bool> StartSession() {
    if (++sessions_ > kMaxSessions)
      return Status(Code::kResourceExhausted,
                    StrCat(operation_.where(), ": the bucket lost the upload session ", kMaxSessions,
                           " times; look at https://status.cloud.google.com and run it again"));
    const HttpRequest request = {
        .method = "POST",
        .url = upload_.location.client->UploadUrl(
            upload_.location.bucket,
            StrCat(Query(upload_, "resumable"), "&name=", PercentEncode(upload_.location.name))),
        .headers = {{"Content-Type", std::string(kJsonType)},
                    {"X-Upload-Content-Type", upload_.content_type},
                    {"X-Upload-Content-Length", std::to_string(bytes_.size)}},
        .body = Resource(upload_, bytes_)};
    ASSIGN_OR_RETURN(const GcsOperation::Answer answer, SendOnce(request));
    finished_ = answer.status == 412;
    if (finished_) return false;
    if (answer.status >= 300) return operation_.Failure(answer.error);
    const auto location = answer.response.Header("location");
    if (!location || location->empty()) return operation_.Unavailable("the answer names no upload session");
    session_ = Secret(Reachable(std::string(*location)));
    ASSIGN_OR_RETURN(id_, upload_.sessions.Begin(session_, upload_.key));
    committed_ = 0;
    known_ = true;
    return true;
  }

  /// Replaces the address of an emulator in a container, which names the address at which it listens.
  std::string Reachable(std::string location) const {
    constexpr std::string_view kAnywhere = "http://0.0.0.0";
    const GcsEndpoint& endpoint = upload_.location.client->settings().endpoint;
    if (location.substr(0, kAnywhere.size()) != kAnywhere) return location;
    const std::size_t path = location.find('/', kAnywhere.size());
    return StrCat(endpoint.url, path == std::string::npos ? "" : std::string_view(location).substr(path));
  }

  Result<std::optional<GcsObject>> TakeProgress(const GcsOperation::Answer& answer, bool asked) {
    const auto header = answer.response.Header("range");
    if (!header && !asked) return operation_.Unavailable("the answer does not say how much has arrived");
    std::uint64_t committed = 0;
    if (header) {
      const std::string_view range = *header;
      const std::size_t dash = range.find('-');
      const auto last = ParseLength(range.substr(std::min(dash + 1, range.size())));
      if (dash == std::string_view::npos || !last || *last >= bytes_.size)
        return operation_.Unavailable("the answer does not say how much has arrived");
      committed = *last + 1;
    }
    if (committed < committed_) {
      RETURN_IF_ERROR(Leave());
      return operation_.Unavailable("the upload session forgot bytes that it had taken");
    }
    // Bytes that an earlier session had taken are no progress in another session.
    if (committed > farthest_) operation_.Progress();
    const bool moved = committed > committed_ || asked;
    farthest_ = std::max(farthest_, committed);
    committed_ = committed;
    // The checksum includes bytes that another process sent.
    if (asked && !bytes_.crc32c) {
      for (const SpoolSum& sum : sums_)
        if (sum.bytes <= committed) bytes_.spool.GoOnFrom(sum);
      RETURN_IF_ERROR(bytes_.spool.ReadUpTo(committed, operation_.stop()));
    }
    known_ = true;
    if (!moved) return operation_.Unavailable("the bucket took none of the bytes that were sent");
    return std::nullopt;
  }

  /// True for a part of a spool: the caller that uploads the parts compares them with the checksum of the
  /// whole.
  Result<bool> IsSettled() {
    if (bytes_.crc32c) return true;
    return bytes_.spool.Settle(operation_.stop());
  }

  /// Begins another session with the first byte, because the bytes that were sent are no state of the source.
  Result<std::optional<GcsObject>> StartOver() {
    Cancel();
    session_ = Secret();
    id_.clear();
    if (++changes_ > kMaxChanges) return ChangedAgainAndAgain(bytes_.spool.Where());
    return std::nullopt;
  }

  /// Forgets a session that has ended.
  Status Leave() {
    session_ = Secret();
    return id_.empty() ? Status() : upload_.sessions.End(std::exchange(id_, {}));
  }

  /// Cancels a session that nobody will resume. If the server does not answer, the session ends by itself
  /// after a week; until then it stays recorded, so that Sweep cancels it.
  void Cancel() {
    if (session_.empty()) return;
    if (CancelGcsSession(*upload_.location.client, session_).ok() && !Leave().ok()) id_.clear();
  }

  const GcsUpload& upload_;
  const GcsUploadBytes& bytes_;
  GcsOperation operation_;
  std::unique_ptr<ByteFile> file_;
  Secret session_;              // empty: none is open
  std::string id_;              // of the session, in the file of sessions
  std::vector<SpoolSum> sums_;  // recorded checksums of the source
  int sessions_ = 0;
  bool looked_ = false;          // this upload has looked for a session to resume
  int changes_ = 0;              // number of changes of the source while it was sent
  std::uint64_t committed_ = 0;  // bytes that the session reported
  std::uint64_t farthest_ = 0;   // the most bytes that any session reported
  bool known_ = false;           // the session has exactly committed_ bytes now
  bool finished_ = false;
};

}  // namespace

Result<std::optional<GcsObject>> UploadGcsObject(const GcsUpload& upload, const GcsUploadBytes& bytes,
                                                 std::stop_token stop) {
  if (bytes.size <= kSessionBytes) return UploadWhole(upload, bytes, stop);
  return SessionUpload(upload, bytes, std::move(stop)).Run();
}

Status CancelGcsSession(GcsClient& client, const Secret& uri) {
  GcsOperation operation(client, "gs: an upload session", {});
  // The URI has the generation of the upload, and the server would apply it to the DELETE.
  HttpRequest request = {.method = "DELETE", .url = uri.Reveal()};
  for (const std::string_view part : {"&ifGenerationMatch=", "?ifGenerationMatch="}) {
    const std::size_t at = request.url.find(part);
    if (at == std::string::npos) continue;
    const std::size_t end = std::min(request.url.find('&', at + 1), request.url.size());
    request.url.erase(at + 1, end - at - (end < request.url.size() ? 0 : 1));
  }
  Result<GcsReply> reply = operation.Start(std::move(request));
  return reply.ok() ? Status() : std::move(reply).status();
}

}  // namespace pipeline
