// Prints records of any kind, one per line: as text or as a JSON object.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "cli/terminal/output.h"
#include "stages/verify/record_output.h"

namespace pipeline {

/// One thread at a time.
class RecordPrinter final : public RecordOutput {
 public:
  /// `limit`: maximum number of records.
  RecordPrinter(Output& out, bool json, std::uint64_t limit) : out_(out), json_(json), limit_(limit) {}

  bool json() const override { return json_; }
  bool done() const override { return !out_.open() || printed_ >= limit_; }
  /// Writes a line break inside `text` as \n.
  void Line(std::string_view text) override;
  void Object(const Json& record) override;

 private:
  Output& out_;
  const bool json_;
  const std::uint64_t limit_;
  std::uint64_t printed_ = 0;
};

}  // namespace pipeline
