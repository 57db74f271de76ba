#include "cli/clean_command.h"

#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "base/log.h"
#include "base/str.h"
#include "cli/exit_code.h"
#include "cli/signals.h"
#include "cli/status_display.h"
#include "cli/workplace.h"
#include "dag/plan.h"

namespace pipeline {

namespace {

/// True for an artifact that lies in the work directory and is what a run is for: no stage reads it.
bool IsKeptForGood(const Node& node, const PlannedSegment& segment) {
  return segment.place.starts_with(kWorkPlace) && node.readers.empty() && node.port_readers.empty();
}

/// Directories of pieces that something still reads or goes on from.
std::set<std::string> Needed(const LoadedPipeline& loaded, const Plan& plan) {
  std::set<std::string> needed;
  for (const PlannedSegment& segment : plan.segments) {
    const Node& node = loaded.graph.nodes()[static_cast<std::size_t>(segment.node)];
    const bool wanted = segment.state == PlannedSegment::State::kWanted;
    if (wanted || node.spec->keep || IsKeptForGood(node, segment)) needed.insert(segment.directory);
    if (!wanted) continue;
    for (const int need : NeedsOf(segment))
      needed.insert(plan.segments[static_cast<std::size_t>(need)].directory);
  }
  needed.erase("");
  return needed;
}

}  // namespace

int CleanCommand(const Options& options) {
  SignalWatch signals;
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options);
  if (!loaded) return kExitRefused;
  StatusDisplay display(false);
  const auto refuse = [](const Status& why) {
    LogError(why.message());
    return kExitRefused;
  };
  const auto access = options.dry_run ? Workplace::Access::kRead : Workplace::Access::kWrite;
  Result<std::unique_ptr<Workplace>> place =
      Workplace::Open(WorkPath(options, loaded->spec), access, display, SourceFiles::Network::kOffline);
  if (!place.ok()) return refuse(place.status());
  std::set<std::string> needed;
  if (!options.all) {
    const Result<Facts> facts = (*place)->Gather(loaded->graph, signals.token());
    if (!facts.ok()) return refuse(facts.status());
    const Result<Plan> plan = MakePlan(loaded->graph, *facts, {});
    if (!plan.ok()) return refuse(plan.status());
    needed = Needed(*loaded, *plan);
  }
  const Result<std::unique_ptr<Store>> artifacts = (*place)->environment().work_store("artifacts");
  if (!artifacts.ok()) return refuse(artifacts.status());
  const Result<std::vector<ObjectInfo>> objects = (*artifacts)->List("");
  if (!objects.ok()) return refuse(objects.status());
  std::map<std::string, std::uint64_t> removed;  // bytes by directory
  for (const ObjectInfo& object : *objects) {
    const std::string directory = object.name.substr(0, object.name.find('/'));
    if (needed.contains(directory)) continue;
    removed[directory] += object.size;
    if (options.dry_run) continue;
    const Status gone = (*artifacts)->Remove(object.name);
    if (!gone.ok()) {
      LogError(gone.message());
      return kExitFailed;
    }
  }
  std::uint64_t total = 0;
  for (const auto& [directory, bytes] : removed) {
    std::printf("%s %s: %s\n", options.dry_run ? "would remove" : "removed", directory.c_str(),
                HumanBytes(bytes).c_str());
    total += bytes;
  }
  std::printf("%s in all\n", HumanBytes(total).c_str());
  return kExitDone;
}

}  // namespace pipeline
