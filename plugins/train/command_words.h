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

}  // namespace pipeline
