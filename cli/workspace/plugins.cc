#include "cli/workspace/plugins.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "base/str.h"
#include "storage/remote/machine_metadata.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr const char* kVariable = "PIPE_PLUGINS";

/// Returns the path of the running program. Empty: the kernel does not tell.
std::string ProgramPath() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

PluginPlaces PluginPlacesOfProgram() {
  PluginPlaces locations;
  const char* const variable = std::getenv(kVariable);
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    if (!directory.empty()) locations.directories.emplace_back(directory);
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
  }
  const std::string program = ProgramPath();
  if (const std::size_t slash = program.rfind('/'); slash != std::string::npos) {
    const std::string beside = program.substr(0, slash);
    locations.directories.push_back(StrCat(beside, "/plugins"));
    locations.directories.push_back(StrCat(beside, "/../lib/pipe/plugins"));
  }
  locations.probe = {program, "__probe-plugin"};
  return locations;
}

Plugins::Plugins()
    : host_{.open_store = [](const std::string& uri) { return OpenStore(uri); },
            .log = [](Level level, std::string_view line) { Log(level, line); },
            .metadata = [](std::string_view path) { return ReadMachineMetadata(path); }},
      loader_(PluginPlacesOfProgram()),
      stages_(loader_, host_) {}

void Plugins::TellTo(EventFile& events, Progress& progress) {
  host_.event = [&events](std::string_view stage, const Json& event) { events.Write(stage, event); };
  ShowNotes(progress);
}

void Plugins::ShowNotes(Progress& progress) {
  host_.note = [&progress](std::string_view stage, std::string_view text) {
    progress.Note(StrCat(stage, ": ", text));
  };
}

}  // namespace pipeline
