// Finds where a text that was taken for UTF-16 is none. Rules: text/encodings.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipeline {

/// Looks at a text in UTF-16 part by part, front to back.
class Utf16Check {
 public:
  /// Returns the fault of the text up to here; empty: it can be UTF-16. `raw` are the next bytes without a
  /// byte order mark, and became the whole characters `decoded`, with kIllegalSequence. `whole`: `raw` is all
  /// of the text.
  std::string_view Fault(std::string_view raw, std::string_view decoded, bool whole);

 private:
  enum class Half : std::uint8_t { kNone, kLineFeed, kNul };

  bool BecomesUtf8(std::string_view raw, bool whole);
  bool LostAByte(std::string_view decoded);
  void PassHalves(std::string_view character);

  /// Bytes before here that are UTF-8 with no control character but TAB, LF and CR.
  struct Utf8Run {
    std::size_t bytes = 0;
    bool has_line_end = false;
    int lacks = 0;  // continuation bytes of the last character
  };
  Utf8Run run_;

  // The last line.
  std::uint64_t bytes_ = 0;      // decoded
  std::uint64_t illegal_ = 0;    // sequences
  std::uint64_t swapped_ = 0;    // characters that begin with 0A
  std::uint64_t line_ends_ = 0;  // in the other byte order
  Half before_ = Half::kNone;
};

}  // namespace pipeline
