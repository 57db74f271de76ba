#include "cli/workspace/program_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace pipeline {

namespace {

std::string BesideProgram(const std::filesystem::path& program, const std::string& location) {
  return (program.parent_path() / location).lexically_normal().string();
}

}  // namespace

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
  // In this order: unpacked beside the program; installed below the same prefix; packages of Python beside
  // that of the program; built in CLONE/build/PRESET/bin.
  for (const char* location : {"dictionaries", "../share/pipe/dictionaries", "../../text2lm_ipadic",
                               "../../text2lm_ko_dic", "../../../.dictionaries"})
    locations.push_back(BesideProgram(program, location));
  return locations;
}

std::string FindPipelineFile(const std::string& file) {
  std::error_code error;
  const std::filesystem::path program = ProgramPath();
  if (!file.starts_with("pipelines/") || program.empty() || std::filesystem::exists(file, error)) return file;
  for (const char* location : {"../share/pipe/", "../../../"})
    if (std::string own = BesideProgram(program, location + file); std::filesystem::exists(own, error))
      return own;
  return file;
}

}  // namespace pipeline
