#include "cli/workspace/dictionary_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace pipeline {

DictionaryPlaces FindDictionaryPlaces() {
  DictionaryPlaces locations;
  const char* named = std::getenv("PIPE_DICTIONARIES");
  for (std::string_view rest = named ? named : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) locations.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return locations;
  const std::filesystem::path bin = program.parent_path();
  // In this order: unpacked beside the program; installed below the same prefix; built in
  // CLONE/build/PRESET/bin.
  for (const char* location : {"dictionaries", "../share/pipe/dictionaries", "../../../.dictionaries"})
    locations.push_back((bin / location).lexically_normal().string());
  return locations;
}

}  // namespace pipeline
