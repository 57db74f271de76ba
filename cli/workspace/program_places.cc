#include "cli/workspace/program_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace pipeline {

std::string ProgramPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::vector<std::string> DirectoriesNamedBy(const char* variable) {
  std::vector<std::string> directories;
  const char* const named = std::getenv(variable);
  for (std::string_view rest = named != nullptr ? named : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) directories.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return directories;
}

DictionaryPlaces FindDictionaryPlaces() {
  DictionaryPlaces locations = DirectoriesNamedBy("PIPE_DICTIONARIES");
  const std::filesystem::path program = ProgramPath();
  if (program.empty()) return locations;
  // In this order: unpacked beside the program; installed below the same prefix; built in
  // CLONE/build/PRESET/bin.
  for (const char* location : {"dictionaries", "../share/pipe/dictionaries", "../../../.dictionaries"})
    locations.push_back((program.parent_path() / location).lexically_normal().string());
  return locations;
}

}  // namespace pipeline
