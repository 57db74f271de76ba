#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "base/str.h"
#include "tests/support/fake_gcs_call.h"
#include "tests/support/fake_gcs_words.h"

namespace pipeline {

namespace {

using Kind = FakeFault::Kind;

/// `bytes a-b/T`; `*` where a number is absent.
struct Announced {
  bool has_bytes = false;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::optional<std::uint64_t> total;
};

std::optional<Announced> ParseAnnounced(std::string_view header) {
  if (header.substr(0, 6) != "bytes ") return std::nullopt;
  header.remove_prefix(6);
  const std::size_t slash = header.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Announced announced;
  if (header.substr(slash + 1) != "*" && !(announced.total = ParseWholeNumber(header.substr(slash + 1))))
    return std::nullopt;
  const std::string_view span = header.substr(0, slash);
  if (span == "*") return announced;
  const std::size_t dash = std::min(span.find('-'), span.size());
  const auto first = ParseWholeNumber(span.substr(0, dash));
  const auto last = ParseWholeNumber(span.substr(std::min(dash + 1, span.size())));
  if (!first || !last || *last < *first) return std::nullopt;
  announced.has_bytes = true;
  announced.first = *first;
  announced.end = *last + 1;
  return announced;
}

/// Fills `out`, but for the end of the body. False where the client is gone.
bool ReadPiece(const FakeGcsCall& call, std::span<char> out, std::size_t& got) {
  for (std::size_t more = 1; more > 0 && got < out.size(); got += more)
    if (!call.exchange.ReadBody(out.subspan(got), more)) return false;
  return true;
}

/// Reads the body into `take`, piece by piece, with the damage that the fault does on the way. False where it
/// broke off: by the fault (which has been answered) or because the client is gone. `lock`: of the session;
/// who stalls does not keep others from asking.
template <class Take>
bool Receive(const FakeGcsCall& call, const Take& take, std::unique_lock<std::mutex>* lock = nullptr) {
  std::vector<char> buffer(256 << 10);
  std::uint64_t received = 0;
  const FakeFault& fault = call.fault;
  bool struck = false;
  for (;;) {
    std::size_t most = buffer.size();
    const bool breaks = fault.after && (fault.kind == Kind::kStatus || fault.kind == Kind::kReset);
    if (breaks) most = static_cast<std::size_t>(std::min<std::uint64_t>(most, *fault.after - received));
    if (breaks && most == 0) {
      call.world.faults.Count("A");
      if (fault.kind == Kind::kStatus) return call.Error(fault.status), false;
      call.exchange.Reset();
      return false;
    }
    std::size_t got = 0;
    if (!ReadPiece(call, std::span(buffer.data(), most), got)) return false;
    if (got == 0) return true;
    if (fault.kind == Kind::kCorrupt && !struck) buffer[got / 2] = static_cast<char>(buffer[got / 2] ^ 0x20);
    if (fault.kind == Kind::kStall && !struck && received + got >= fault.after.value_or(0)) {
      call.world.faults.Count("L");
      if (lock != nullptr) lock->unlock();
      call.exchange.Stall(std::chrono::milliseconds(fault.number));
      if (lock != nullptr) return call.exchange.Reset(), false;
      struck = true;
    }
    struck = struck || fault.kind == Kind::kCorrupt;
    received += got;
    call.world.moments.Pass();
    take(std::string_view(buffer.data(), got));
  }
}

/// Makes the object, after whoever races it.
FakeOutcome Finish(const FakeGcsCall& call, const FakeObject& object,
                   const FakePreconditions& preconditions) {
  if (const auto longer = call.world.faults.SlownessOf(object.name); longer.count() > 0)
    call.exchange.Stall(longer);
  if (call.fault.kind == Kind::kRace && preconditions.generation_match) {
    FakeObject other = object;
    other.given.Remove("metadata");
    if (call.world.objects.Put(other, preconditions).status == 200) call.world.faults.Count("H");
  }
  return call.world.objects.Put(object, preconditions);
}

bool AnswerWrongHash(const FakeGcsCall& call) {
  call.world.faults.Count("G");
  return call.Error(400, "invalid", "Provided CRC32C or MD5 hash doesn't match calculated hash.");
}

void AnswerProgress(const FakeGcsCall& call, const FakeSession& session) {
  std::vector<HttpHeader> headers;
  const bool lost = call.fault.kind == Kind::kLostRange;
  if (lost) call.world.faults.Count("B");
  if (session.content->size() > 0 && !lost)
    headers.push_back({"Range", StrCat("bytes=0-", session.content->size() - 1)});
  call.exchange.Answer(308, headers, "");
}

/// Drops members that the server decides.
Json GivenOf(Json resource) {
  for (const char* member : {"name", "bucket", "size", "generation", "metageneration", "kind", "id"})
    resource.Remove(member);
  return resource;
}

bool SplitMultipart(std::string_view content_type, std::string_view body, std::string_view& head,
                    std::string_view& media, std::string& media_type) {
  const std::size_t at = content_type.find("boundary=");
  if (at == std::string_view::npos) return false;
  std::string_view boundary = content_type.substr(at + 9);
  boundary = boundary.substr(0, boundary.find(';'));
  // gcloud's quotes are single ones.
  if (!boundary.empty() && (boundary.front() == '"' || boundary.front() == '\''))
    boundary = boundary.substr(1, boundary.size() - 2);
  const std::string border = StrCat("--", boundary);
  std::string_view parts[2];
  std::size_t begin = body.find(border);
  for (std::string_view& part : parts) {
    if (begin == std::string_view::npos) return false;
    begin = body.find('\n', begin);
    const std::size_t end = begin == std::string_view::npos ? begin : body.find(StrCat("\n", border), begin);
    if (end == std::string_view::npos) return false;
    part = body.substr(begin + 1, end - begin - 1);
    if (!part.empty() && part.back() == '\r') part.remove_suffix(1);
    begin = end + 1;
  }
  const auto after_headers = [](std::string_view part) {
    const std::size_t crlf = part.find("\r\n\r\n"), lf = part.find("\n\n");
    return crlf < lf ? crlf + 4 : lf == std::string_view::npos ? part.size() : lf + 2;
  };
  head = parts[0].substr(after_headers(parts[0]));
  const std::string_view media_head = parts[1].substr(0, after_headers(parts[1]));
  media = parts[1].substr(media_head.size());
  for (const std::string_view name : {"Content-Type: ", "content-type: "})
    if (const std::size_t type = media_head.find(name); type != std::string_view::npos)
      media_type =
          media_head.substr(type + name.size(), media_head.find_first_of("\r\n", type) - type - name.size());
  return true;
}

}  // namespace

void FakeInsertWhole(const FakeGcsCall& call) {
  FakeObject object;
  object.bucket = call.bucket;
  object.name = call.Argument("name");
  const std::shared_ptr<FakeContent> content = call.world.NewContent();
  const std::string type(call.request().Header("content-type"));
  if (call.Argument("uploadType") == "multipart") {
    // What is damaged is the media: the real thing would notice a damaged head by TLS alone, as we do.
    FakeGcsCall undamaged = call;
    const bool damages = call.fault.kind == Kind::kCorrupt;
    if (damages) undamaged.fault = {};
    std::string body;
    if (!Receive(undamaged, [&](std::string_view bytes) { body.append(bytes); })) return;
    std::string_view head, media;
    std::string media_type;
    if (!SplitMultipart(type, body, head, media, media_type)) {
      call.Error(400, "badRequest", "Malformed multipart body.");
      return;
    }
    const Result<Json> resource = Json::Parse(head);
    if (!resource.ok()) {
      call.Error(400, "parseError", "Parse Error");
      return;
    }
    if (resource->Has("name")) object.name = (*resource)["name"].AsString();
    object.given = *resource;
    if (!object.given.Has("contentType")) object.given["contentType"] = media_type;
    const std::size_t whole = damages ? media.size() / 2 : media.size();
    content->Append(media.substr(0, whole));
    if (whole < media.size()) {
      content->Append(std::string(1, static_cast<char>(media[whole] ^ 0x20)));
      content->Append(media.substr(whole + 1));
    }
  } else {
    object.given["contentType"] = type;
    if (const std::string encoding = call.Argument("contentEncoding"); !encoding.empty())
      object.given["contentEncoding"] = encoding;
    if (!Receive(call, [&](std::string_view bytes) { content->Append(bytes); })) return;
  }
  if (object.name.empty()) {
    call.Error(400, "required", "Required");
    return;
  }
  if (!HashesHold(call.request().Header("x-goog-hash"), object.given, *content)) {
    AnswerWrongHash(call);
    return;
  }
  object.given = GivenOf(std::move(object.given));
  object.content = content;
  call.AnswerOutcome(Finish(call, object, FakePreconditions::From(call.request())));
}

void FakeInsertStart(const FakeGcsCall& call) {
  std::string body;
  if (!call.exchange.ReadWholeBody(body)) return;
  const auto session = std::make_shared<FakeSession>();
  session->object.bucket = call.bucket;
  session->object.name = call.Argument("name");
  if (!body.empty()) {
    const Result<Json> resource = Json::Parse(body);
    if (!resource.ok()) {
      call.Error(400, "parseError", "Parse Error");
      return;
    }
    if (resource->Has("name")) session->object.name = (*resource)["name"].AsString();
    session->object.given = *resource;
  }
  if (session->object.name.empty()) {
    call.Error(400, "required", "Required");
    return;
  }
  if (!session->object.given.Has("contentType"))
    session->object.given["contentType"] = call.request().Header("x-upload-content-type");
  session->preconditions = FakePreconditions::From(call.request());
  session->hashes = call.request().Header("x-goog-hash");
  session->content = call.world.NewContent();
  const std::string id = call.world.uploads.Add(session);
  std::string base = call.world.url;
  if (call.fault.kind == Kind::kRedirectSession) {
    call.world.faults.Count("Q");
    base = StrCat("http://0.0.0.0", std::string_view(base).substr(base.rfind(':')));
  }
  const std::string location =
      StrCat(base, "/upload/storage/v1/b/", call.bucket, "/o?uploadType=resumable&upload_id=", id);
  call.exchange.Answer(200, {{"Location", location}, {"X-GUploader-UploadID", id}}, "");
}

void FakeInsertStep(const FakeGcsCall& call, const std::string& id) {
  const std::shared_ptr<FakeSession> session = call.world.uploads.Find(id);
  if (session == nullptr) {
    call.Error(404, "notFound", "Session not found.");
    return;
  }
  std::unique_lock lock(session->mutex);
  if (call.fault.kind == Kind::kExpireSession && !session->done) session->gone = call.fault.status;
  if (session->gone != 0) {
    if (session->gone == 404 || session->gone == 410) call.world.faults.Count("D");
    call.Error(session->gone == 499 ? 404 : session->gone, "notFound", "Session is gone.");
    return;
  }
  if (call.request().method == "DELETE") {
    if (!session->done) session->gone = 499;
    call.exchange.Answer(session->done ? 404 : 499, {}, "");
    return;
  }
  if (session->done) {
    call.Answer(FakeResource(*session->done, call.world.url));
    return;
  }
  const std::string header(call.request().Header("content-range"));
  std::optional<Announced> announced = header.empty() ? std::nullopt : ParseAnnounced(header);
  if (!header.empty() && !announced) {
    call.Error(400, "badRequest", "Failed to parse Content-Range header.");
    return;
  }
  FakeContent& content = *session->content;
  bool finished = false;
  if (!announced || announced->has_bytes) {
    const std::uint64_t first = announced ? announced->first : 0;
    if (first > content.size()) {
      call.Error(400, "badRequest", "Invalid request. The bytes before this chunk did not arrive.");
      return;
    }
    std::uint64_t known = content.size() - first;  // sent again: left out
    std::uint64_t received = 0;
    std::string tail;
    const bool whole = Receive(
        call,
        [&](std::string_view bytes) {
          received += bytes.size();
          const auto skip = static_cast<std::size_t>(std::min<std::uint64_t>(known, bytes.size()));
          known -= skip;
          bytes.remove_prefix(skip);
          if (tail.empty()) {  // nearly always: without another copy
            const std::size_t quanta = bytes.size() / kFakeQuantum * kFakeQuantum;
            content.Append(bytes.substr(0, quanta));
            bytes.remove_prefix(quanta);
          }
          tail.append(bytes);
          const std::size_t keep = tail.size() / kFakeQuantum * kFakeQuantum;
          content.Append(std::string_view(tail).substr(0, keep));
          tail.erase(0, keep);
        },
        &lock);
    if (!whole) return;
    if (announced && received != announced->end - announced->first) {
      call.Error(400, "badRequest", "The body is not as long as Content-Range says.");
      return;
    }
    finished = !announced || (announced->total && announced->end == *announced->total);
    if (finished) content.Append(tail);
  } else {
    std::string none;
    if (!call.exchange.ReadWholeBody(none)) return;
    finished = announced->total && *announced->total == content.size();
  }
  if (!finished) {
    AnswerProgress(call, *session);
    return;
  }
  if (!HashesHold(call.request().Header("x-goog-hash"), session->object.given, content) ||
      !HashesHold(session->hashes, {}, content)) {
    session->gone = 400;
    AnswerWrongHash(call);
    return;
  }
  FakeObject object = session->object;
  object.given = GivenOf(std::move(object.given));
  object.content = session->content;
  const FakeOutcome outcome = Finish(call, object, session->preconditions);
  if (outcome.status == 200) session->done = outcome.object;
  if (outcome.status == 412) session->gone = 412;
  call.AnswerOutcome(outcome);
}

}  // namespace pipeline
