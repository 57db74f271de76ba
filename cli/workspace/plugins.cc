#include "cli/workspace/plugins.h"

#include <string_view>

#include "base/log.h"
#include "base/str.h"
#include "cli/workspace/program_places.h"
#include "storage/remote/machine_metadata.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

/// PIPE_PLUGINS, then plugins/ beside the program, then ../lib/pipe/plugins; the program itself is the probe.
PluginPlaces PluginPlacesOfProgram() {
  PluginPlaces locations;
  locations.directories = DirectoriesNamedBy("PIPE_PLUGINS");
  const std::string program = ProgramPath();
  if (const std::size_t slash = program.rfind('/'); slash != std::string::npos) {
    const std::string beside = program.substr(0, slash);
    locations.directories.push_back(StrCat(beside, "/plugins"));
    locations.directories.push_back(StrCat(beside, "/../lib/pipe/plugins"));
  }
  locations.probe = {program, "__probe-plugin"};
  return locations;
}

}  // namespace

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
