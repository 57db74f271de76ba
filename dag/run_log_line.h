// One line of the run log: text to fact and back. Form: dag/run_log.md. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dag/run_log.h"

namespace pipeline {

/// What can be told of a line without decoding it. Views into the line; `unit` is still escaped, and empty
/// where the line has none.
struct LineHead {
  std::string_view kind;
  std::string_view fields;  // "key=value TAB key=value ...": what the Decode functions take
  std::string_view unit;
  std::uint32_t segment = 0;
};

/// Takes apart one line, given without its LF. Absent when the checksum or the form is wrong.
std::optional<LineHead> ScanLine(std::string_view line);

/// `body` ("kind TAB fields") with its checksum and LF.
std::string SealLine(std::string body);

std::string EncodeLine(const UnitLine& line);
std::string EncodeLine(const SegmentLine& line);
std::string EncodeLine(const RunLine& line);

/// Each is absent when the head is of another kind or a known field does not parse.
std::optional<UnitLine> DecodeUnit(const LineHead& head);
std::optional<SegmentLine> DecodeSegment(const LineHead& head);
std::optional<RunLine> DecodeRun(const LineHead& head);

/// The state that lines of this kind have; absent when they are not about a unit.
std::optional<UnitState> UnitStateOf(std::string_view kind);

/// Undoes the escaping of a value; absent where a % has no two hexadecimal digits behind it.
std::optional<std::string> Unescape(std::string_view value);

}  // namespace pipeline
