#include "storage/remote/http/http_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/byte_reader.h"
#include "base/str.h"
#include "storage/remote/http/compared_bytes.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_text.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::size_t kPassedOver = std::size_t{256} << 10;

}  // namespace

class HttpFile::Reader final : public RepeatingReader {
 public:
  Reader(const HttpFile& file, std::uint64_t begin, std::uint64_t end, std::stop_token stop)
      : file_(file),
        offset_(std::min(begin, file.size())),
        end_(std::clamp(end, offset_, file.size())),
        stop_(std::move(stop)),
        retry_(file.means_.retry) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    while (offset_ < end_) {
      Result<std::size_t> got = Attempt(out);
      if (got.ok() && *got > 0) {
        retry_.Progress();
        offset_ += *got;
        has_read_ = true;
        // The checksum of a pinned file shows what is wrong with it.
        if (!file_.is_pinned_) last_.Add(std::string_view(out.data(), *got));
        return got;
      }
      exchange_.reset();
      if (got.ok() && offset_ == until_) continue;  // the server sends the requested range in several parts
      if (got.ok() && file_.is_pinned_ && is_chunked_) got = Resized(offset_);
      Status failure = got.ok() ? Broken("the transfer ended") : std::move(got).status();
      if (failure.code() == Code::kUnavailable && has_read_ && !file_.is_pinned_ &&
          file_.facts_.Version().empty())
        return Status(Code::kUnavailable,
                      StrCat(failure.message(),
                             "; the server tells neither ETag nor Last-Modified, so the rest might belong to "
                             "another version: run it again; pinned by `checksum` it goes on where it was"));
      RETURN_IF_ERROR(retry_.Again(std::move(failure), asked_pause_, stop_));
    }
    if (end_ == file_.size()) RETURN_IF_ERROR(CheckEnd());
    return std::size_t{0};
  }

  Status Broken(std::string_view why) const {
    return Status(Code::kUnavailable,
                  StrCat(ShownUrl(file_.url_), ": ", why, " at byte ", offset_, " of ", file_.size()));
  }

  Status RefusesThePart(std::string_view with) const {
    return Status(Code::kFailedPrecondition, StrCat(ShownUrl(file_.url_), ": the server answers with ", with))
        .With(std::make_shared<RefusesPart>());
  }

  Result<std::size_t> Attempt(std::span<char> out) {
    if (stop_.stop_requested())
      return Status(Code::kCancelled, StrCat(ShownUrl(file_.url_), ": reading was stopped"));
    if (!exchange_) RETURN_IF_ERROR(Ask());
    RETURN_IF_ERROR(Skip(out));
    RETURN_IF_ERROR(Compare());
    if (until_ <= offset_) {  // only a part of the compared bytes was sent
      until_ = offset_;
      return std::size_t{0};
    }
    const std::uint64_t left = until_ - offset_;
    return exchange_->Read(out.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, out.size()))));
  }

  Status Skip(std::span<char> out) {
    while (skip_ > 0) {
      const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, out.size()));
      ASSIGN_OR_RETURN(const std::size_t got, exchange_->Read(out.first(wanted)));
      if (got == 0) return Broken("the transfer ended");
      skip_ -= got;
    }
    return {};
  }

  /// Compares the bytes before `offset_`, which the exchange sends again. Each needs to be seen once only: if
  /// the transfer breaks, the next one begins behind those that were.
  Status Compare() {
    std::string now(again_, '\0');
    while (again_ > 0) {
      ASSIGN_OR_RETURN(const std::size_t got, exchange_->Read(std::span(now).first(again_)));
      if (got == 0) return Broken("the transfer ended");
      if (std::string_view(now).substr(0, got) != last_.bytes().substr(0, got))
        return HasOtherBytes(ShownUrl(file_.url_), offset_);
      retry_.Progress();
      last_.Drop(got);
      again_ -= got;
    }
    return {};
  }

  /// Begins a transfer from `offset_` on, after the bytes that are compared. It always asks the given
  /// address, because the target of a redirect may be valid for an hour only.
  Status Ask() {
    asked_pause_.reset();
    HttpRequest request = RequestFor(file_.url_, file_.means_);
    const bool ends_before = end_ < file_.size();
    from_ = offset_ - last_.bytes().size();
    if (from_ > 0 || ends_before) {
      request.headers.push_back(
          {"Range", ends_before ? StrCat("bytes=", from_, "-", end_ - 1) : StrCat("bytes=", from_, "-")});
      const std::string validator = file_.facts_.Validator();
      if (!validator.empty()) request.headers.push_back({"If-Range", validator});
    }
    ASSIGN_OR_RETURN(exchange_, file_.client_->Start(request, stop_));
    const HttpResponse& response = exchange_->response();
    asked_pause_ = AskedPause(response, file_.means_.retry.clock->UnixMillis());
    Status taken = Take(response);
    if (taken.ok())
      again_ = static_cast<std::size_t>(std::min(offset_, until_) - from_);
    else
      exchange_.reset();
    return taken;
  }

  Status Take(const HttpResponse& response) {
    const std::optional<std::uint64_t> length =
        ParseLength(response.Header("content-length").value_or(std::string_view()));
    has_length_ = length.has_value();
    is_chunked_ = !has_length_ && response.Header("transfer-encoding").has_value();
    if (response.status == 200) {
      RETURN_IF_ERROR(CheckIsFile(response, file_.url_));
      RETURN_IF_ERROR(CheckIsPlain(response, file_.url_));
      RETURN_IF_ERROR(CheckIsSame(response, length));
      if (offset_ > 0 && end_ < file_.size())
        return RefusesThePart(StrCat("the whole file, and not with bytes ", from_, "-", end_ - 1));
      // The server does not know ranges, or not this condition, so it sends the whole file again. The
      // comparison above shows that it has the same version, and the rest cannot be had otherwise.
      skip_ = from_;
      until_ = end_;
      return {};
    }
    if (response.status == 206) {
      const auto range = ParseContentRange(response.Header("content-range").value_or(std::string_view()));
      if (!range || !range->span) return RefusesThePart("a part and does not say which");
      RETURN_IF_ERROR(CheckIsPlain(response, file_.url_));
      RETURN_IF_ERROR(CheckIsSame(response, range->size));
      if (range->span->first > from_ || range->span->last < from_ || range->span->last >= file_.size())
        return RefusesThePart(StrCat("bytes ", range->span->first, "-", range->span->last,
                                     ", and not with those from ", from_, " on"));
      skip_ = from_ - range->span->first;
      until_ = std::min(range->span->last + 1, end_);
      has_length_ = true;
      is_chunked_ = false;
      return {};
    }
    if (response.status == 416 && file_.is_pinned_)
      if (const auto range = ParseContentRange(response.Header("content-range").value_or(std::string_view()));
          range && range->size && *range->size != file_.size())
        return Resized(*range->size);
    if (response.status == 412 || response.status == 416)
      return Status(Code::kDataLoss, StrCat(ShownUrl(file_.url_), ": changed while it was read: byte ",
                                            offset_, " is there no more; run it again"))
          .With(std::make_shared<NoRange>());
    return HttpError(response, file_.url_, StrCat("cannot read from byte ", offset_));
  }

  Status CheckIsSame(const HttpResponse& response, std::optional<std::uint64_t> size) const {
    if (!file_.is_pinned_) return CheckUnchanged(file_.facts_, response, size, offset_ > 0, file_.url_);
    return size && *size != file_.size() ? Resized(*size) : Status();
  }

  Status Resized(std::uint64_t size) const {
    return Status(Code::kFailedPrecondition, StrCat(ShownUrl(file_.url_), ": has ", size, " bytes, and not ",
                                                    file_.size(), " as was said before"))
        .With(std::make_shared<OtherSize>(size));
  }

  /// A body without a length may be longer than the file should be.
  Status CheckEnd() {
    if (!exchange_ || has_length_) return {};
    std::string more(file_.is_pinned_ ? kPassedOver : 1, '\0');
    std::uint64_t bytes = 0;
    Result<std::size_t> got = exchange_->Read(more);
    while (got.ok() && *got > 0) {
      bytes += *got;
      if (!file_.is_pinned_) break;
      got = exchange_->Read(more);  // only the end of the body shows the size of a pinned file
    }
    exchange_.reset();
    if (bytes == 0) return {};
    if (file_.is_pinned_) return got.ok() ? Resized(file_.size() + bytes) : std::move(got).status();
    return Status(Code::kDataLoss, StrCat(ShownUrl(file_.url_), ": changed while it was read: it had ",
                                          file_.size(), " bytes and has more; run it again"));
  }

  const HttpFile& file_;
  std::uint64_t offset_;     // of the next byte that the caller gets
  const std::uint64_t end_;  // of the range that the caller wants
  const std::stop_token stop_;
  Retry retry_;
  std::optional<std::chrono::milliseconds> asked_pause_;
  std::unique_ptr<HttpExchange> exchange_;  // null: before the first read and after a failure
  LastBytes last_;           // before `offset_`, of this reader; a new transfer sends them again
  std::uint64_t from_ = 0;   // of the range that was asked for
  std::size_t again_ = 0;    // bytes of `last_` that the exchange has still to send again
  std::uint64_t skip_ = 0;   // bytes of the exchange before `from_`
  std::uint64_t until_ = 0;  // end of the exchange or of the caller's range, whichever comes first
  bool has_length_ = false;
  bool is_chunked_ = false;  // the body shows its end only when it comes
  bool has_read_ = false;
};

Result<std::unique_ptr<HttpFile>> HttpFile::Open(std::shared_ptr<HttpClient> client, std::string url,
                                                 const HttpMeans& means, std::stop_token stop) {
  ASSIGN_OR_RETURN(HttpFacts facts, AskFacts(*client, url, means, std::move(stop)));
  if (!facts.coding.empty()) return EncodedAs(std::move(facts), url);
  return std::unique_ptr<HttpFile>(
      new HttpFile(std::move(client), std::move(url), std::move(facts), false, means));
}

std::unique_ptr<HttpFile> HttpFile::Pinned(std::shared_ptr<HttpClient> client, std::string url,
                                           std::uint64_t size, const HttpMeans& means) {
  HttpFacts facts;
  facts.size = size;
  return std::unique_ptr<HttpFile>(
      new HttpFile(std::move(client), std::move(url), std::move(facts), true, means));
}

Result<std::unique_ptr<ByteReader>> HttpFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                        std::stop_token stop) const {
  return std::make_unique<Reader>(*this, begin, end, std::move(stop));
}

}  // namespace pipeline
