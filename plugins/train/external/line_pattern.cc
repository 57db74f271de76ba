#include "plugins/train/external/line_pattern.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostPattern = 1000;  // bytes
constexpr std::size_t kMostDigits = 2;      // of the bounds of a repetition

Status WrongPattern(std::string_view pattern, std::string_view why) {
  return Status(
      Code::kInvalidArgument,
      StrCat("\"", pattern, "\" is no pattern that can be used: ", why,
             "; it is a POSIX extended regular expression with one group, such as \"step ([0-9]+)\""));
}

/// The C library takes `\d` for the letter, and `\1` makes a match slow: both would be a silent trap.
Status CheckEscapes(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '\\') continue;
    const char next = pattern[++at];
    if (std::isalnum(static_cast<unsigned char>(next)) != 0 &&
        std::string_view("wWsSbB").find(next) == std::string_view::npos)
      return WrongPattern(pattern, StrCat("it has \\", std::string_view(&next, 1),
                                          next == 'd' ? ", and a digit is [0-9]" : ", which is not known"));
  }
  return {};
}

/// Returns the place behind the bracket expression that begins at `at`.
std::size_t BehindBracket(std::string_view pattern, std::size_t at) {
  ++at;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']') {
    const char kind = pattern[at] == '[' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (kind == ':' || kind == '.' || kind == '=') {
      const std::array<char, 2> close = {kind, ']'};
      const std::size_t end = pattern.find(std::string_view(close.data(), close.size()), at + 2);
      if (end == std::string_view::npos) return pattern.size();
      at = end + 1;
    }
    ++at;
  }
  return std::min(at + 1, pattern.size());
}

/// A pattern with exactly one group, which takes the forms of a number, too.
std::string WithNumbers(const std::string& pattern) {
  std::size_t open = 0;
  while (pattern[open] != '(')
    open = pattern[open] == '[' ? BehindBracket(pattern, open) : open + (pattern[open] == '\\' ? 2 : 1);
  std::size_t close = open;
  while (pattern[close] != ')')
    close = pattern[close] == '[' ? BehindBracket(pattern, close) : close + (pattern[close] == '\\' ? 2 : 1);
  return StrCat(
      pattern.substr(0, open), "((", pattern.substr(open + 1, close - open - 1), ")([eE][-+]?[0-9]+)?",
      R"(|[-+]?\<[nN][aA][nN]\>|[-+]?\<[iI][nN][fF]([iI][nN][iI][tT][yY])?\>)", pattern.substr(close));
}

/// The C library makes a copy of an expression for each repetition of it, so repetitions of repetitions can
/// fill the memory: a++++ as well as ((a{999}){999}).
Status CheckRepetitions(std::string_view pattern) {
  bool repeated = false;  // the character before ended a repetition
  for (std::size_t at = 0; at < pattern.size();) {
    const char here = pattern[at];
    const bool interval = here == '{';
    if (!interval && here != '*' && here != '+' && here != '?') {
      repeated = false;
      at = here == '[' ? BehindBracket(pattern, at) : at + (here == '\\' ? 2 : 1);
      continue;
    }
    if (std::exchange(repeated, true)) return WrongPattern(pattern, "it repeats a repetition");
    const std::size_t end = interval ? pattern.find('}', at) : at;
    if (end == std::string_view::npos) return WrongPattern(pattern, "it has { without }");
    for (std::size_t digits = 0; at <= end; ++at) {
      digits = std::isdigit(static_cast<unsigned char>(pattern[at])) != 0 ? digits + 1 : 0;
      if (digits > kMostDigits) return WrongPattern(pattern, "it repeats something more than 99 times");
    }
  }
  return {};
}

}  // namespace

struct LinePattern::Compiled {
  regex_t find = {};   // as it is written, or with the forms of a number: its group is 1
  regex_t whole = {};  // ^(…)$: the group is 2
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    regfree(&find);
    regfree(&whole);
  }

  static std::optional<std::string> Match(const regex_t& expression, std::size_t group,
                                          std::string_view text) {
    std::array<regmatch_t, 3> found = {};
    found[0] = {0, static_cast<regoff_t>(text.size())};
    // With REG_STARTEND the text may have zeros. It needs no end mark, but the address sanitizer reads one.
    const std::string ended(text);
    if (regexec(&expression, ended.c_str(), found.size(), found.data(), REG_STARTEND) != 0) return {};
    const regmatch_t& match = found.at(group);
    if (match.rm_so < 0) return std::string();
    return std::string(text.substr(static_cast<std::size_t>(match.rm_so),
                                   static_cast<std::size_t>(match.rm_eo - match.rm_so)));
  }
};

Result<LinePattern> LinePattern::Compile(const std::string& pattern) { return CompileAs(pattern, false); }

Result<LinePattern> LinePattern::CompileNumber(const std::string& pattern) {
  return CompileAs(pattern, true);
}

Result<LinePattern> LinePattern::CompileAs(const std::string& pattern, bool number) {
  if (pattern.find('\0') != std::string::npos) return WrongPattern(pattern, "it has a zero byte");
  if (pattern.size() > kMostPattern)
    return WrongPattern(pattern.substr(0, 40) + "…", StrCat("it has more than ", kMostPattern, " bytes"));
  RETURN_IF_ERROR(CheckEscapes(pattern));
  RETURN_IF_ERROR(CheckRepetitions(pattern));
  auto compiled = std::make_shared<Compiled>();
  const std::string whole = StrCat("^(", pattern, ")$");
  for (auto [expression, text] :
       {std::pair(&compiled->find, &pattern), std::pair(&compiled->whole, &whole)}) {
    const int error = regcomp(expression, text->c_str(), REG_EXTENDED);
    if (error == 0) continue;
    std::array<char, 200> why = {};
    regerror(error, expression, why.data(), why.size());
    *expression = {};  // nothing to free
    return WrongPattern(pattern, why.data());
  }
  if (compiled->find.re_nsub != 1)
    return WrongPattern(pattern, StrCat("it has ", compiled->find.re_nsub, " groups"));
  if (number) {
    regfree(&compiled->find);
    compiled->find = {};
    if (regcomp(&compiled->find, WithNumbers(pattern).c_str(), REG_EXTENDED) != 0) {
      compiled->find = {};
      return WrongPattern(pattern, "its group cannot take a number");
    }
  }
  return LinePattern(std::move(compiled));
}

std::optional<std::string> LinePattern::Find(std::string_view text) const {
  return Compiled::Match(compiled_->find, 1, text);
}

std::optional<std::string> LinePattern::MatchWhole(std::string_view text) const {
  if (text.size() > kMostText) return {};
  return Compiled::Match(compiled_->whole, 2, text);
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  const auto number = ParseNumber<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace pipeline
