// Rules by which text becomes lines, documents and partitions, and the start position of a reader. Rules:
// formats/lines.md; for rows also formats/rows.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "formats/line_ends.h"

namespace pipeline {

enum class Documents : std::uint8_t { kBlankLine, kLine };
enum class OnLong : std::uint8_t { kSplit, kQuarantine, kFail };

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct LineRules {
  Documents documents = Documents::kBlankLine;
  OnLong on_long = OnLong::kSplit;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  std::size_t max_record_bytes = std::size_t{8} << 20;  // at least 4: a character must fit
  /// The cutter reports the end of the input after this number of documents.
  std::uint64_t max_documents = kNoLimit;
  /// Delimiter of rows with quoted fields (RFC 4180), with Documents::kLine: a line end inside a quoted
  /// field belongs to the row. NUL: a quote is an ordinary byte.
  char quoted_delimiter = '\0';
  /// A row whose quotes are wrong ends with the line in which the wrong quote opened its field, and a row
  /// longer than max_record_bytes with the next line end. False (reading rules 1): it goes on to the next
  /// quote.
  bool wrong_quotes_end_lines = false;
  bool header = false;            // the first non-blank line of each section is a header, not a record
  bool space_is_blank = false;    // a line of white space alone is blank, unless it is longer than a record
  bool cr_may_end_lines = false;  // see line_ends.h
};

/// Start position of a cutter: the start of the input, or the first byte of a partition whose first record
/// is also the first record of its document.
struct CutterStart {
  std::uint64_t raw = 0;  // offset in the input
  std::uint64_t document = 0;
  std::uint32_t partition = 0;
  std::optional<LineEnds> ends =
      {};  // of the first section; absent: its front decides, or kLf if `raw` is not 0
};

/// Returns true if a partition that follows the bytes `before` certainly begins with a document, as
/// CutterStart requires. `before`: some of the last bytes, of which kLeastBorderBytes show all but long lines
/// of white space.
inline constexpr std::size_t kLeastBorderBytes = 3;
inline constexpr std::size_t kBorderBytes = 256;
bool EndsDocument(std::string_view before, const LineRules& rules, LineEnds ends);

}  // namespace pipeline
