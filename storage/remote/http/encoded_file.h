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
struct EncodedFile {
  /// Decodes one coding; kUnimplemented if it is unknown. The reader fails with kDataLoss if the bytes are
  /// damaged.
  using UndoCoding = std::function<Result<std::unique_ptr<ByteReader>>(std::string_view coding,
                                                                       std::unique_ptr<ByteReader> sent)>;
  std::vector<std::string> urls;  // tried in this order; at least one
  /// Requests the whole file at `url`.
  std::function<Result<EncodedTransfer>(const std::string& url, std::stop_token stop)> open;
  UndoCoding undo;
  std::function<void(std::string_view line)> note;  // prints one line for people
  RetryMeans retry = {};

  /// Replaces the content of `part` with the decoded file and sets its size. `pin`: the checksum of the
  /// sent bytes or of the decoded ones; the note says which. `came` is called with the bytes so far.
  Status FetchInto(PartFile& part, const std::optional<Checksum>& pin,
                   const std::function<void(std::uint64_t bytes)>& came, const std::stop_token& stop) const;
};

}  // namespace pipeline
