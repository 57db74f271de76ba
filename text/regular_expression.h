// Regular expressions with the properties of Unicode. Only regular_expression.cc uses ICU's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// A regular expression as ICU defines it. One thread at a time; a copy shares nothing but the compiled
/// pattern.
class RegularExpression {
 public:
  /// kInvalidArgument: `pattern` is not valid; the message says where and why.
  static Result<RegularExpression> Make(const std::string& pattern);
  RegularExpression(const RegularExpression& other);
  RegularExpression(RegularExpression&&) noexcept;
  RegularExpression& operator=(const RegularExpression&) = delete;
  ~RegularExpression();

  /// Appends to `borders` the begin and the end of each match in `text` (clean UTF-8), in bytes, in their
  /// order. Matches that are empty give none. kInvalidArgument: the pattern takes too many steps or too much
  /// memory on this text, whatever the machine is.
  Status FindBorders(std::string_view text, std::vector<std::uint32_t>& borders);

 private:
  struct Compiled;
  explicit RegularExpression(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace pipeline
