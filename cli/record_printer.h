// Records of any kind as lines: the text, or a JSON object.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "cli/output.h"
#include "formats/tf_example.h"

namespace pipeline {

/// One thread at a time.
class RecordPrinter {
 public:
  /// `limit`: that many records at most.
  RecordPrinter(Output& out, bool json, std::uint64_t limit) : out_(out), json_(json), limit_(limit) {}

  /// Whether the caller is to use Object instead of Line.
  bool json() const { return json_; }
  /// Nobody wants more.
  bool done() const { return !out_.open() || printed_ >= limit_; }

  /// A line end inside `text` is written as \n.
  void Line(std::string_view text);
  void Object(const Json& record);

 private:
  Output& out_;
  const bool json_;
  const std::uint64_t limit_;
  std::uint64_t printed_ = 0;
};

/// The text itself, or {"base64": ...} for bytes that are none.
Json TextOrBase64(std::string_view bytes);

/// The features by name; a list of one text is that text.
Json ToJson(const TfExample& example);

}  // namespace pipeline
