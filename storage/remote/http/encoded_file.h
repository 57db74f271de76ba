// A file that its server sends only with a Content-Encoding: downloaded whole and decoded on arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "storage/remote/http/part_file.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// One response body.
struct EncodedTransfer {
  std::string coding;                // "gzip", "br, gzip"; empty: sent as it is stored after all
  std::unique_ptr<ByteReader> sent;  // kUnavailable: another attempt may help
};

/// Has no ranges and no resuming: a broken transfer starts again.
class EncodedFile {
 public:
  /// Decodes one coding; kUnimplemented if it is unknown. The reader fails with kDataLoss if the bytes are
  /// damaged.
  using UndoCoding = std::function<Result<std::unique_ptr<ByteReader>>(std::string_view coding,
                                                                       std::unique_ptr<ByteReader> sent)>;
  struct Means {
    /// Requests the whole file at `url`.
    std::function<Result<EncodedTransfer>(const std::string& url, std::stop_token stop)> open;
    UndoCoding undo;
    std::function<void(std::string_view line)> note;  // prints one line for people
    RetryMeans retry = {};
  };
  /// Limit of the decoded size: kMaxRatio times the sent size, plus kFree bytes. No text compresses better
  /// than that.
  static constexpr std::uint64_t kMaxRatio = 1000, kFree = std::uint64_t{64} << 20;
  /// Bytes that stay free on the disk, so that a malicious file cannot fill it.
  static constexpr std::uint64_t kLeftFree = std::uint64_t{256} << 20;

  /// `urls`: tried in this order; at least one.
  EncodedFile(std::vector<std::string> urls, Means means)
      : urls_(std::move(urls)), means_(std::move(means)) {}

  /// Replaces the content of `part` with the decoded file and sets its size. `pin`: the checksum of the
  /// sent bytes or of the decoded ones; the note says which. `came` is called with the bytes so far.
  Status FetchInto(PartFile& part, const std::optional<Checksum>& pin,
                   const std::function<void(std::uint64_t bytes)>& came, const std::stop_token& stop);

 private:
  Status FetchFrom(const std::string& url, PartFile& part, const std::optional<Checksum>& pin,
                   const std::function<void(std::uint64_t bytes)>& came, const std::stop_token& stop);
  Result<std::unique_ptr<ByteReader>> Undo(const std::string& url, std::string_view coding,
                                           std::unique_ptr<ByteReader> sent) const;

  const std::vector<std::string> urls_;
  const Means means_;
};

}  // namespace pipeline
