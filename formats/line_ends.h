// The line ends of a text: LF, and CR, too, in a text of an old Mac. Rules: formats/lines.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"

namespace pipeline {

/// The first kLineEndBytes of a section decide: kCr if there is a CR and no LF.
enum class LineEnds : std::uint8_t {
  kLf,  // LF, CR LF
  kCr   // CR, too
};
inline constexpr std::size_t kLineEndBytes = std::size_t{8} << 20;

/// One thread at a time.
class LineEndSearch {
 public:
  /// `front`: the section from its first byte on, each time as it was and perhaps more. `finished`: it is all
  /// of it. Absent: it needs more.
  std::optional<LineEnds> In(std::string_view front, bool finished);

 private:
  std::size_t seen_ = 0;
  bool has_cr_ = false;
};

/// Reads as much of `text` as decides. kCancelled: `stop` was requested.
Result<LineEnds> FindLineEnds(ByteReader& text, const std::stop_token& stop);

/// Returns `text` with an LF for each CR and CR LF.
std::string WithLfEnds(std::string_view text);

}  // namespace pipeline
