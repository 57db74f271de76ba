// A file that its server sends encoded only: taken whole, and decoded while it arrives.
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
#include "remote/part_file.h"
#include "remote/retry.h"

namespace pipeline {

/// One body while it arrives.
struct EncodedTransfer {
  std::string coding;                // "gzip", "br, gzip"; empty: it comes as it is stored after all
  std::unique_ptr<ByteReader> sent;  // kUnavailable: another attempt may help
};

/// No ranges and no resuming: a transfer that breaks is begun anew.
class EncodedFile {
 public:
  struct Means {
    /// Asks for all of the file at an address.
    std::function<Result<EncodedTransfer>(const std::string& url, std::stop_token stop)> open;
    /// Undoes one coding; kUnimplemented for one that nobody here knows. Gives kDataLoss for what is damaged.
    std::function<Result<std::unique_ptr<ByteReader>>(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent)>
        undo;
    std::function<void(std::string_view line)> note;  // one line for people
    RetryMeans retry = {};
  };
  /// Decoded, a file may be so many times as large as it was sent, and so much more: beyond lies no text.
  static constexpr std::uint64_t kMaxRatio = 1000, kFree = std::uint64_t{64} << 20;
  /// On the disk, which a file made to fill it would leave without.
  static constexpr std::uint64_t kLeftFree = std::uint64_t{256} << 20;

  /// `urls` in the order in which they are asked, at least one.
  EncodedFile(std::vector<std::string> urls, Means means)
      : urls_(std::move(urls)), means_(std::move(means)) {}

  /// Fills `part` with the decoded file, whose size it has then. What was there is gone. `pin`: the checksum
  /// of what was sent, or of what it was decoded to; the note says which. `came` is told the bytes so far.
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
