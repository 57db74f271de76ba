// Lines of UTF-8 on their way to the trainer, which would answer to damaged bytes, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// One thread at a time.
class CleanLines {
 public:
  /// `name`: the input, for messages. `remedy`: what a person does who has other text.
  CleanLines(std::string name, std::string remedy) : name_(std::move(name)), remedy_(std::move(remedy)) {}

  /// Takes the next bytes of the input, none at its end; returns the lines that they complete.
  /// kInvalidArgument names a line that is no UTF-8 or has a NUL, or a text whose lines end with CR.
  Result<std::string> Take(std::string_view bytes);

 private:
  Status Wrong(std::uint64_t line, std::string_view why) const;

  const std::string name_, remedy_;
  std::string held_;         // of the line that has no end yet
  std::uint64_t lines_ = 0;  // that were returned
};

}  // namespace pipeline
