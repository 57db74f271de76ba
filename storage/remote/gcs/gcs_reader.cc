#include "storage/remote/gcs/gcs_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "base/str.h"
#include "storage/remote/http/http_text.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxRead = 1 << 20;  // between two checks of the stop token

class Reader final : public RepeatingReader {
 public:
  Reader(const GcsFile& file, std::uint64_t begin, std::uint64_t end, std::stop_token stop)
      : file_(file),
        operation_(*file.client(), StrCat("gs://", file.bucket(), "/", file.object().name), std::move(stop)),
        at_(std::min(begin, file.size())),
        end_(std::clamp(end, at_, file.size())),
        whole_(begin == 0 && end_ == file.size()) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    Result<std::size_t> got = ReadOrResume(out.first(std::min(out.size(), kMaxRead)));
    if (!got.ok()) exchange_.reset();
    return got;
  }

  Result<std::size_t> ReadOrResume(std::span<char> out) {
    if (operation_.stop().stop_requested())
      return Status(Code::kCancelled, StrCat(operation_.where(), ": reading was stopped"));
    while (at_ < end_) {
      Result<std::size_t> got = Attempt(out);
      if (got.ok()) {
        // A caller that knows the size does not read on to the end, so the last bytes wait for this.
        RETURN_IF_ERROR(CheckSum());
        return got;
      }
      exchange_.reset();
      RETURN_IF_ERROR(operation_.Again(std::move(got).status()));
    }
    exchange_.reset();
    return std::size_t{0};
  }

  /// Compares the CRC-32C after the last byte of a whole object.
  Status CheckSum() const {
    const std::optional<std::uint32_t> expected = file_.object().crc32c;
    if (!whole_ || at_ < end_ || !expected || *expected == crc_) return {};
    return operation_
        .Unavailable("the bytes that arrived have another CRC-32C than the object; read it again")
        .With(std::make_shared<DamagedOnTheWay>());
  }

  Result<std::size_t> Attempt(std::span<char> out) {
    if (!exchange_) RETURN_IF_ERROR(Connect());
    const std::uint64_t left = end_ - at_;
    const std::span<char> wanted =
        out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left)));
    Result<std::size_t> got = exchange_->Read(wanted);
    if (!got.ok()) return std::move(got).status().Annotate(operation_.where());
    if (*got == 0)
      return operation_.Unavailable(StrCat("the transfer ended at byte ", at_, " of ", file_.size()));
    operation_.Progress();
    at_ += *got;
    if (whole_) crc_ = Crc32c(std::string_view(wanted.data(), *got), crc_);
    return got;
  }

  /// Opens a response that continues at at_.
  Status Connect() {
    const GcsObject& object = file_.object();
    HttpRequest request;
    request.url = file_.client()->ObjectUrl(file_.bucket(), object.name,
                                            StrCat("alt=media&generation=", object.generation));
    // Without this header the server unpacks an object that is stored as gzip, and neither ranges nor
    // checksums match.
    request.headers = {{"Accept-Encoding", "gzip"}};
    if (end_ < file_.size())
      request.headers.push_back({"Range", StrCat("bytes=", at_, "-", end_ - 1)});
    else if (at_ != 0)
      request.headers.push_back({"Range", StrCat("bytes=", at_, "-")});
    ASSIGN_OR_RETURN(GcsReply reply, operation_.Start(std::move(request)));
    if (reply.status() == 404 || reply.status() == 412)
      return Status(Code::kDataLoss,
                    StrCat(operation_.where(),
                           ": was replaced or removed while it was read; read it from its start"))
          .With(std::make_shared<ReplacedWhileRead>());
    if (!reply.exchange) return operation_.Failure(reply.error);
    const auto generation = reply.response.Header("x-goog-generation");
    if (generation && *generation != object.generation)
      return operation_.Unavailable("the answer is of another generation than was asked for");
    ASSIGN_OR_RETURN(const std::uint64_t begin, BeginOf(reply.response));
    exchange_ = std::move(reply.exchange);
    return Discard(at_ - begin);
  }

  /// Returns the offset of the first byte of a response; not behind at_.
  Result<std::uint64_t> BeginOf(const HttpResponse& response) const {
    const std::uint64_t size = file_.size();
    if (response.status == 200) {
      if (at_ > 0 && end_ < size)
        return Status(Code::kFailedPrecondition,
                      StrCat(operation_.where(), ": the server sends the whole object, and not bytes ", at_,
                             "-", end_ - 1))
            .With(std::make_shared<RefusesPart>());
      const auto length = response.Header("content-length");
      if (!length || ParseLength(*length) == size) return std::uint64_t{0};
    }
    if (response.status == 206) {
      const auto header = response.Header("content-range");
      const auto range = header ? ParseContentRange(*header) : std::nullopt;
      if (range && range->span && range->span->first <= at_ && range->span->last + 1 == end_ &&
          range->size == size)
        return range->span->first;
    }
    return operation_.Unavailable(
        StrCat("the answer (status ", response.status, ") does not match the request"));
  }

  /// Skips bytes, because a server may send more than the requested range.
  Status Discard(std::uint64_t bytes) {
    std::vector<char> piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 256 << 10)));
    while (bytes > 0) {
      const std::span<char> wanted(piece.data(),
                                   static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes)));
      ASSIGN_OR_RETURN(const std::size_t got, exchange_->Read(wanted));
      if (got == 0) return operation_.Unavailable("the transfer ended early");
      bytes -= got;
    }
    return {};
  }

  const GcsFile& file_;
  GcsOperation operation_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const bool whole_;  // the reader reads from the first byte to the last, so the CRC can be compared
  std::uint32_t crc_ = 0;
  std::unique_ptr<HttpExchange> exchange_;  // null: between two requests
};

}  // namespace

Result<std::unique_ptr<ByteReader>> GcsFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                       std::stop_token stop) const {
  return std::make_unique<Reader>(*this, begin, end, std::move(stop));
}

}  // namespace pipeline
