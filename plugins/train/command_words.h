// The parsed words of a command: flags with one value each, and positional words.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

struct CommandWords {
  std::vector<std::string> alone;
  std::map<std::string, std::string, std::less<>> flags;  // "--dir" -> its value

  std::string Flag(std::string_view name, std::string_view fallback) const {
    const auto found = flags.find(name);
    return std::string(found == flags.end() ? fallback : std::string_view(found->second));
  }
};

/// `--flag value` or `--flag=value`, each at most once. kInvalidArgument names a flag that is not `known`.
Result<CommandWords> ParseCommandWords(const std::vector<std::string>& words,
                                       const std::vector<std::string_view>& known);

/// Checks the number of a flag, which may be absent. kInvalidArgument: it is none from `least` to `most`, or
/// not whole.
Status CheckNumber(const CommandWords& words, std::string_view flag, double least, double most, bool whole);
/// Checks the name of a file to write, which may be absent. kInvalidArgument: its directory does not exist,
/// or something other than a regular file has the name.
Status CheckTarget(const CommandWords& words, std::string_view flag);

/// A word as a shell takes it, for a command that a person copies.
std::string Quoted(std::string_view word);

}  // namespace pipeline
