#include "cli/dictionary_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace pipeline {

DictionaryPlaces FindDictionaryPlaces() {
  DictionaryPlaces places;
  const char* named = std::getenv("PIPE_DICTIONARIES");
  for (std::string_view rest = named ? named : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) places.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return places;
  const std::filesystem::path bin = program.parent_path();
  // Unpacked beside each other; installed below one prefix; CLONE/build/PRESET/bin.
  for (const char* place : {"dictionaries", "../share/pipe/dictionaries", "../../../.dictionaries"})
    places.push_back((bin / place).lexically_normal().string());
  return places;
}

}  // namespace pipeline
