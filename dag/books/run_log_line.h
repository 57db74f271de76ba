// Encodes and decodes one line of the run log. Form: dag/books/run_log.md. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dag/books/run_log.h"

namespace pipeline {

/// The first line of a run log: the front, the version, LF.
inline constexpr std::string_view kRunLogFirstLine = "# pipe run log v1\n";
inline constexpr std::string_view kRunLogFront = kRunLogFirstLine.substr(0, 16);
inline constexpr std::uint32_t kRunLogVersion = static_cast<std::uint32_t>(kRunLogFirstLine[16] - '0');
static_assert(kRunLogFront.ends_with('v') && kRunLogFirstLine.find('\n') == 17);

/// The parts of a line that are known without decoding it. Views into the line. `unit` is still escaped;
/// empty: the line has none.
struct LineHead {
  std::string_view kind;
  std::string_view fields;  // "key=value TAB key=value ...": input of the Decode functions
  std::string_view unit;
  std::uint32_t segment = 0;
};

/// Splits one line, given without its LF. Absent: the checksum or the form is wrong.
std::optional<LineHead> ScanLine(std::string_view line);

/// Returns `body` ("kind TAB fields") with its checksum and LF.
std::string SealLine(std::string body);

std::string EncodeLine(const UnitLine& line);
std::string EncodeLine(const SegmentLine& line);
std::string EncodeLine(const RunLine& line);

/// Absent: the head is of another kind, or a known field does not parse.
std::optional<UnitLine> DecodeUnit(const LineHead& head);
std::optional<SegmentLine> DecodeSegment(const LineHead& head);
std::optional<RunLine> DecodeRun(const LineHead& head);

/// Returns the state of lines of this kind. Absent: they are not about a unit.
std::optional<UnitState> UnitStateOf(std::string_view kind);

/// Undoes the escaping of a value. Absent: a % without two hexadecimal digits after it.
std::optional<std::string> Unescape(std::string_view value);

}  // namespace pipeline
