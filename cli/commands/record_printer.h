// Prints records of any kind, one per line: as text or as a JSON object.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "cli/terminal/output.h"
#include "formats/tf_example.h"

namespace pipeline {

/// One thread at a time.
class RecordPrinter {
 public:
  /// `limit`: maximum number of records.
  RecordPrinter(Output& out, bool json, std::uint64_t limit) : out_(out), json_(json), limit_(limit) {}

  /// True if the caller must use Object instead of Line.
  bool json() const { return json_; }
  /// True if no more records are wanted.
  bool done() const { return !out_.open() || printed_ >= limit_; }

  /// Writes a line break inside `text` as
  /// .
  void Line(std::string_view text);
  void Object(const Json& record);

 private:
  Output& out_;
  const bool json_;
  const std::uint64_t limit_;
  std::uint64_t printed_ = 0;
};

/// The text itself, or {"base64": ...} for bytes that are not text.
Json TextOrBase64(std::string_view bytes);

/// The features by name; a list with one text becomes that text.
Json ToJson(const TfExample& example);

}  // namespace pipeline
