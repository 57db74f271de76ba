// Detects the compression of an input and decodes it, and decodes the content codings of web servers. The
// table of compressed formats: compression.cc. Rules: formats/compression.md.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "formats/member_ends.h"

namespace pipeline {

/// A compressed format: a row of the table.
struct CompressedFormat {
  std::string_view name;                      // "xz", a value of the key `format`
  std::span<const std::string_view> endings;  // of file names: ".xz"
  /// Returns true if data of this format begins with `front`, which has kMagicBytes bytes or is whole.
  bool (*is_front)(std::string_view front);
  /// Decodes `input` front to back, by a StreamDecoder.
  Result<std::unique_ptr<ByteReader>> (*decode)(std::unique_ptr<ByteReader> input);
};

/// The table. Its order is that of lists of names.
std::span<const CompressedFormat> CompressedFormats();

/// A compressed format, or none: plain bytes.
class Compression {
 public:
  Compression() = default;  // plain
  explicit Compression(const CompressedFormat& format) : format_(&format) {}
  /// Absent: neither the name of a row nor "plain".
  static std::optional<Compression> Named(std::string_view name);

  bool is_plain() const { return format_ == nullptr; }
  std::string_view name() const { return format_ ? format_->name : "plain"; }
  /// Decodes `input` front to back; returns plain `input` itself.
  Result<std::unique_ptr<ByteReader>> Decode(std::unique_ptr<ByteReader> input) const;
  /// Does the same with an `input` that begins at `begin` of the file: at its front, or at the end of a
  /// member that `ends` had. `ends` receives those that are passed; null: nobody needs them.
  Result<std::unique_ptr<ByteReader>> Decode(std::unique_ptr<ByteReader> input, const StreamPosition& begin,
                                             std::shared_ptr<MemberEnds> ends) const;

  bool operator==(const Compression&) const = default;

 private:
  const CompressedFormat* format_ = nullptr;  // of the table; null: plain
};

/// Number of leading bytes that DetectCompression needs; a shorter input is passed whole.
inline constexpr std::size_t kMagicBytes = 16;

/// Decides by the magic number at the front. `name` (the last part of a path or URL) never changes the
/// answer: it causes an error if it promises a compression that the bytes do not have. `if_text`: what to do
/// if the file is text all the same; empty: nothing.
Result<Compression> DetectCompression(std::string_view front, std::string_view name,
                                      std::string_view if_text = {});

/// kUnimplemented: `front`, which was decoded from `outer`, is itself compressed.
Status RefuseNestedCompression(std::string_view front, Compression outer);

/// Returns the first `most` bytes of `reader`, or all if there are fewer.
Result<std::string> ReadFront(ByteReader& reader, std::size_t most);

/// Decodes one coding of RFC 9110, 8.4.1, by its lower-case name: gzip, deflate, br, zstd. kUnimplemented:
/// any other name. The reader returns kDataLoss for data that is damaged or ends early.
Result<std::unique_ptr<ByteReader>> NewContentDecoder(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent);

}  // namespace pipeline
