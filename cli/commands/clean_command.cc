#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/last_settings.h"
#include "cli/workspace/workspace.h"
#include "dag/plan/planner.h"

namespace pipeline {

namespace {

/// True: the output is in the work directory and is the purpose of a run, because no stage reads it.
bool IsKeptForGood(const Node& node, const PlannedSegment& segment) {
  return (!segment.publishes || segment.location.starts_with(kWorkLocation)) && node.readers.empty() &&
         node.named_input_readers.empty();
}

/// Returns the directories of partition outputs that are kept, or that an unfinished segment reads or
/// continues.
std::set<std::string> Needed(const LoadedPipeline& loaded, const Plan& plan) {
  std::set<std::string> needed;
  for (const PlannedSegment& segment : plan.segments) {
    const Node& node = loaded.graph[segment.node];
    const bool wanted = segment.state != PlannedSegment::State::kUpToDate;
    if (wanted || node.spec->keep || IsKeptForGood(node, segment)) needed.insert(segment.directory);
    if (!wanted) continue;
    for (const SegmentId need : NeedsOf(segment)) needed.insert(plan.segments[need].directory);
  }
  needed.erase("");
  return needed;
}

/// Removes the directories and files right below `below` of the work directory that are not needed, and
/// counts them.
Status RemoveBelow(const Environment& environment, const std::string& below,
                   const std::set<std::string>& needed, bool dry_run,
                   std::map<std::string, std::uint64_t>& removed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, environment.work_store(below));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List(""));
  std::vector<ObjectInfo> unneeded;
  for (const ObjectInfo& object : objects) {
    const std::string first = object.name.substr(0, object.name.find('/'));
    if (needed.contains(first)) continue;
    removed[first] += object.size;
    unneeded.push_back(object);
  }
  return dry_run ? Status() : store->RemoveAll(unneeded, [] { return true; });
}

struct CleanOptions {
  PipelineOptions pipeline;
  bool dry_run = false;
  bool all = false;  // everything, not only unneeded files
};

int Clean(const CleanOptions& options) {
  SignalWatch signals;
  const Attendance attendance(signals.token());
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options.pipeline, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  if (!loaded->spec.unseen.empty() && !options.all)
    return Refuse(StrCat("nothing is removed: the needs of stage '", loaded->spec.unseen.front().name,
                         "' are not known without its plugin; --allow-plugin loads it"));
  StatusDisplay display(false);
  const auto access = options.dry_run ? Workspace::Access::kRead : Workspace::Access::kWrite;
  const WorkPlace place = WorkPlaceOf(options.pipeline, loaded->spec);
  const auto nothing_ran = [&] {
    return Refuse(StrCat("nothing ran yet, so that there is nothing to remove; `pipe run ",
                         options.pipeline.file, "` begins"));
  };
  if (!place.may_exist()) return nothing_ran();
  Result<std::unique_ptr<Workspace>> workspace =
      Workspace::Open(place, access, display, SourceFiles::Network::kMayAsk, signals.token());
  if (!workspace.ok()) return Refuse(workspace.status());
  if (!options.dry_run) RemoveLeftBehind(**workspace, loaded->graph);
  std::set<std::string> needed;
  bool needs_sources = false;
  if (!options.all) {
    const Result<Snapshot> snapshot =
        (*workspace)->TakeSnapshot(loaded->graph, loaded->spec, signals.token());
    if (!snapshot.ok()) return Refuse(snapshot.status());
    const Result<Plan> plan = MakePlan(loaded->graph, *snapshot, StoredIn((*workspace)->environment()), {});
    if (!plan.ok()) return Refuse(plan.status());
    for (const std::string& left_out : plan->left_out)
      LogWarning(StrCat(options.pipeline.file, ": ", left_out));
    needed = Needed(*loaded, *plan);
    needs_sources = !plan->nothing_to_do() || !plan->left_out.empty();
  }
  std::map<std::string, std::uint64_t> removed;  // bytes by directory, or by file of a source
  for (const std::string_view below : {"artifacts", "sources", "kept", "hosts"}) {
    if (below == "sources" && needs_sources) continue;
    // They have copies that would cost another download, and checkpoints that may be nowhere else yet.
    if ((below == "kept" || below == "hosts") && !options.all) continue;
    const Status done =
        RemoveBelow((*workspace)->environment(), std::string(below), needed, options.dry_run, removed);
    if (!done.ok()) return Refuse(done);
  }
  std::uint64_t total = 0;
  for (const auto& [directory, bytes] : removed) {
    PrintLine(StrCat(options.dry_run ? "would remove " : "removed ", directory, ": ", HumanBytes(bytes)));
    total += bytes;
  }
  if (removed.empty() && (*workspace)->log().Runs().empty()) return nothing_ran();
  PrintLine(StrCat(HumanBytes(total), " in all"));
  return kExitDone;
}

}  // namespace

Command CleanCommand() {
  const auto options = std::make_shared<CleanOptions>();
  return {
      .name = "clean",
      .help = "Remove intermediates that nothing unfinished needs",
      .words = Joined(
          PipelineWords(options->pipeline),
          {{.flags = {"-n", "--dry-run"},
            .help = "Show the names and sizes, and remove nothing",
            .to = &options->dry_run},
           {.flags = {"--all"},
            .help = "Remove all but logs, reports and quarantines: also the intermediates of unfinished "
                    "stages, kept files and checkpoints",
            .to = &options->all}}),
      .run =
          [options](const Call& call) {
            const Status taken = WithLastSettings(call, options->pipeline, true).status();
            return taken.ok() ? Clean(*options) : Refuse(taken);
          },
  };
}

}  // namespace pipeline
