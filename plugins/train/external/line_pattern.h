// A POSIX extended regular expression with one group: external.md, section 3.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace pipeline {

/// Immutable and safe from any thread; copies share the compiled pattern.
class LinePattern {
 public:
  /// The C library's matcher may take the square of the length of a text: 4 KiB take milliseconds.
  static constexpr std::size_t kMostText = 4096;

  /// kInvalidArgument, without the name of the key: the pattern is wrong or has not exactly one group.
  static Result<LinePattern> Compile(const std::string& pattern);
  /// The same for the number that a program prints. Patterns are often written for plain numbers, such as
  /// ([0-9.]+), so the group also takes an exponent that follows, and nan or inf in the place of the number.
  static Result<LinePattern> CompileNumber(const std::string& pattern);

  /// The group of the first match; absent: no match. The caller gives at most kMostText bytes.
  std::optional<std::string> Find(std::string_view text) const;
  /// The group, if the pattern matches all of `text`, of at most kMostText bytes.
  std::optional<std::string> MatchWhole(std::string_view text) const;

 private:
  struct Compiled;
  static Result<LinePattern> CompileAs(const std::string& pattern, bool number);
  explicit LinePattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

/// Reads a whole number, also with zeros before it; absent: the text is another one.
std::optional<std::int64_t> WholeNumber(std::string_view text);

}  // namespace pipeline
