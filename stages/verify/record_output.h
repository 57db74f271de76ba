// Where a reader puts the records that it prints: a line for people, or a JSON object for programs.
#pragma once

#include <string_view>

#include "base/json.h"

namespace pipeline {

/// One thread at a time.
class RecordOutput {
 public:
  virtual ~RecordOutput() = default;
  /// True if the caller must use Object instead of Line.
  virtual bool json() const = 0;
  /// True if no more records are wanted.
  virtual bool done() const = 0;
  virtual void Line(std::string_view text) = 0;
  virtual void Object(const Json& record) = 0;
};

}  // namespace pipeline
