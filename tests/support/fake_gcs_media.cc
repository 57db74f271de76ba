#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/str.h"
#include "formats/stream_decoder.h"
#include "tests/support/fake_gcs_call.h"

namespace pipeline {

namespace {

using Kind = FakeFault::Kind;

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What `bytes=a-b`, `bytes=a-` or `bytes=-n` asks for of `size` bytes; all of them where it is no such
/// thing.
Span Asked(std::string_view range, std::uint64_t size, bool& is_range) {
  is_range = range.substr(0, 6) == "bytes=" && range.find(',') == std::string_view::npos;
  if (!is_range) return {0, size};
  range.remove_prefix(6);
  const std::size_t dash = std::min(range.find('-'), range.size());
  const auto number = [](std::string_view text) {
    std::uint64_t value = 0;
    const bool ok = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
    return ok ? std::optional(value) : std::nullopt;
  };
  const auto first = number(range.substr(0, dash));
  const auto last = number(range.substr(std::min(dash + 1, range.size())));
  if (!first) return {size - std::min(size, last.value_or(size)), size};
  return {*first, last ? std::min(size, *last + 1) : size};
}

/// Gives the content to the decoder.
class ContentReader final : public ByteReader {
 public:
  explicit ContentReader(const FakeContent& content) : content_(content) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t got = content_.Read(at_, out);
    at_ += got;
    return got;
  }

 private:
  const FakeContent& content_;
  std::uint64_t at_ = 0;
};

/// As the server does for whoever does not take gzip: no length, no range, the hash of what is stored.
void Transcode(const FakeGcsCall& call, const FakeContent& content, std::vector<HttpHeader> headers) {
  headers.push_back({"Warning", "214 UploadServer gunzipped"});
  if (!call.exchange.Begin(200, headers, std::nullopt)) return;
  const std::unique_ptr<ByteReader> decoded = NewGzipReader(std::make_unique<ContentReader>(content)).value();
  std::vector<char> piece(256 << 10);
  for (;;) {
    const Result<std::size_t> got = decoded->Read(piece);
    if (!got.ok()) return call.exchange.HangUp();
    if (*got == 0 || !call.exchange.Write(std::string_view(piece.data(), *got))) return;
  }
}

/// Somebody puts the same bytes the other way round in the object's place: no mixture of the two is either.
void Overwrite(const FakeGcsCall& call, const FakeObject& object) {
  const std::string bytes = object.content->ReadAll();
  const std::shared_ptr<FakeContent> content = call.world.NewContent();
  content->Append(std::string(bytes.rbegin(), bytes.rend()));
  FakeObject other = object;
  other.content = content;
  call.world.objects.Put(std::move(other), {});
}

/// Sends `span`, or what the fault leaves of it.
void Send(const FakeGcsCall& call, const FakeObject& object, const Span& span) {
  const FakeContent& content = *object.content;
  const FakeFault& fault = call.fault;
  const bool breaks =
      fault.kind == Kind::kBrokenStream || fault.kind == Kind::kReset || fault.kind == Kind::kOverwrite;
  std::uint64_t left = span.end - span.begin;
  // It breaks before its end in any case: otherwise nothing would be wrong.
  if (breaks && left > 0) left = std::min(fault.after.value_or(left / 2), left - 1);
  std::vector<char> piece(256 << 10);
  bool struck = false;
  for (std::uint64_t at = span.begin; left > 0;) {
    const std::size_t got =
        content.Read(at, std::span(piece.data(), std::min<std::uint64_t>(piece.size(), left)));
    if (fault.kind == Kind::kCorrupt && !struck) {
      call.world.faults.Count("J");
      piece[got / 2] = static_cast<char>(piece[got / 2] ^ 0x20);
      struck = true;
    }
    if (fault.kind == Kind::kStall && !struck && at - span.begin + got >= fault.after.value_or(0)) {
      call.world.faults.Count("L");
      call.exchange.Stall(std::chrono::milliseconds(fault.number));
      struck = true;
    }
    call.world.moments.Pass();
    if (!call.exchange.Write(std::string_view(piece.data(), got))) return;
    call.world.read_bytes += got;
    at += got;
    left -= got;
  }
  if (!breaks) return;
  call.world.faults.Count("J");
  if (fault.kind == Kind::kOverwrite) Overwrite(call, object);
  if (fault.kind == Kind::kReset) {
    call.exchange.Reset();
  } else {
    call.exchange.HangUp();
  }
}

}  // namespace

void FakeRead(const FakeGcsCall& call) {
  const FakeGcsObjects& objects = call.world.objects;
  std::optional<FakeObject> object = objects.Find(call.bucket, call.object);
  const std::string pinned = call.Argument("generation");
  if (object && !pinned.empty() && pinned != std::to_string(object->generation)) {
    call.world.faults.Count("M");
    object.reset();
  }
  if (!object) {
    call.Error(404);
    return;
  }
  if (const int status = FakePreconditions::From(call.request()).Check(&*object); status != 200) {
    call.Error(status);
    return;
  }
  const FakeContent& content = *object->content;
  const std::string_view encoding = object->Given("contentEncoding");
  std::uint64_t generation = object->generation;
  if (call.fault.kind == Kind::kWrongEtag) {
    call.world.faults.Count("J");
    ++generation;
  }
  std::vector<HttpHeader> headers = {
      {"x-goog-generation", std::to_string(generation)},
      {"x-goog-metageneration", std::to_string(object->metageneration)},
      {"x-goog-hash", FakeHashes(content)},
      {"x-goog-stored-content-encoding", encoding.empty() ? "identity" : std::string(encoding)},
      {"x-goog-stored-content-length", std::to_string(content.size())},
      {"ETag", StrCat("\"C", generation, "=\"")},
      {"Content-Type", std::string(object->Given("contentType"))}};
  if (encoding == "gzip") {
    call.world.faults.Count("K");
    if (call.request().Header("accept-encoding").find("gzip") == std::string_view::npos &&
        object->Given("cacheControl").find("no-transform") == std::string_view::npos)
      return Transcode(call, content, std::move(headers));
    headers.push_back({"Content-Encoding", "gzip"});
  }
  bool is_range = false;
  Span span = Asked(call.request().Header("range"), content.size(), is_range);
  if (call.fault.kind == Kind::kWholeObject && is_range) {
    call.world.faults.Count("J");
    is_range = false;
    span = {0, content.size()};
  }
  if (is_range && span.begin >= span.end) {
    call.exchange.Answer(416, {{"Content-Range", StrCat("bytes */", content.size())}}, "");
    return;
  }
  if (is_range)
    headers.push_back(
        {"Content-Range", StrCat("bytes ", span.begin, '-', span.end - 1, '/', content.size())});
  if (call.exchange.Begin(is_range ? 206 : 200, headers, span.end - span.begin)) Send(call, *object, span);
}

}  // namespace pipeline
