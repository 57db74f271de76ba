#include "dag/plan/unneeded_outputs.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/commit_point.h"
#include "base/log.h"
#include "base/str.h"
#include "dag/books/manifest.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/records/partition_output.h"

namespace pipeline {

namespace {

/// Tells which partition outputs of a graph a run may remove at all.
class Removable {
 public:
  Removable(const Graph& graph, const Lineages& lineages, const std::set<NodeId>& refused)
      : graph_(graph), lineages_(lineages), refused_(refused) {}

  bool operator()(NodeId node, End end) const {
    const Node& at = graph_[node];
    const StageType& type = *at.spec->type;
    if (end == End::kTakesIn) return type.barrier() != nullptr && MayGo(node);
    if (at.spec->keep) return false;
    if (type.sink() != nullptr) return MayGo(node);
    const bool is_read = !at.readers.empty() || !at.named_input_readers.empty();
    // Records that no stage reads are the purpose of a run.
    return type.gives == Flow::kRecords && is_read && MayGo(node);
  }

 private:
  /// False for outputs that could not be made again, and for those that a stage may continue from whose
  /// artifact has another recipe: --force may replace it.
  bool MayGo(NodeId node) const {
    const auto& vanished = lineages_.vanished();
    return lineages_.unknown(node).ok() &&
           std::none_of(vanished.begin(), vanished.end(),
                        [&](const auto& source) { return graph_.MadeFrom(node, source.first); }) &&
           std::none_of(refused_.begin(), refused_.end(),
                        [&](NodeId reader) { return graph_.MadeFrom(reader, node); });
  }

  const Graph& graph_;
  const Lineages& lineages_;
  const std::set<NodeId>& refused_;
};

/// Returns the directories that unfinished segments read or continue.
std::set<std::string> NeededIn(const Plan& plan) {
  std::set<std::string> needed;
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state == PlannedSegment::State::kUpToDate) continue;
    needed.insert(segment.directory);
    for (const SegmentId need : NeedsOf(segment))
      if (!plan.segments[need].publishes) needed.insert(plan.segments[need].directory);
  }
  return needed;
}

/// Returns the partition outputs in `store`, by name, and their manifest first: it says that all are there.
Result<std::vector<ObjectInfo>> OutputsIn(Store& store) {
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, store.List(""));
  std::erase_if(objects, [](const ObjectInfo& object) {
    return object.name != kManifestName && !ParseOutputName(object.name);
  });
  std::stable_partition(objects.begin(), objects.end(),
                        [](const ObjectInfo& object) { return object.name == kManifestName; });
  return objects;
}

}  // namespace

void FindUnneeded(const Graph& graph, const Lineages& lineages, const std::set<NodeId>& refused, Plan& plan) {
  const Removable removable(graph, lineages, refused);
  const std::set<std::string> needed = NeededIn(plan);
  for (const NodeId node : graph.nodes().ids())
    for (const End end : {End::kTakesIn, End::kGives}) {
      if (!removable(node, end)) continue;
      std::string directory = DirectoryOf(lineages.KeysOf(node, end));
      if (!needed.contains(directory)) plan.unneeded.push_back(std::move(directory));
    }
  for (PlannedSegment& segment : plan.segments)
    segment.removable = removable(segment.node, segment.takes_in ? End::kTakesIn : End::kGives);
}

Result<std::uint64_t> OutputBytes(const Environment& environment,
                                  const std::vector<std::string>& directories) {
  std::uint64_t bytes = 0;
  for (const std::string& directory : directories) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenOutputs(environment, directory));
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, OutputsIn(*store));
    for (const ObjectInfo& object : objects) bytes += object.size;
  }
  return bytes;
}

Result<std::uint64_t> RemoveOutputs(const Environment& environment, const std::string& directory,
                                    const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenOutputs(environment, directory));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, OutputsIn(*store));
  if (!objects.empty()) RETURN_IF_ERROR(environment.log->Flush(stop));  // the facts come first
  RETURN_IF_ERROR(store->Sweep(""));  // a killed run left its temporaries there
  if (!objects.empty()) PassCommitPoint("outputs.unneeded");
  std::uint64_t bytes = 0;
  std::size_t gone = 0;
  const auto removed = [&] {
    PassCommitPoint("output.removed");
    bytes += objects[gone++].size;
    return !stop.stop_requested();
  };
  if (stop.stop_requested()) return bytes;
  // The manifest is durably gone before the first object goes.
  const std::size_t manifests = !objects.empty() && objects.front().name == kManifestName ? 1 : 0;
  RETURN_IF_ERROR(store->RemoveAll(std::span(objects).first(manifests), removed));
  if (!stop.stop_requested())
    RETURN_IF_ERROR(store->RemoveAll(std::span(objects).subspan(manifests), removed));
  return bytes;
}

void RemoveUnneeded(const Environment& environment, const std::vector<std::string>& directories,
                    const std::stop_token& stop) {
  std::uint64_t bytes = 0;
  for (const std::string& directory : directories) {
    const Result<std::uint64_t> removed = RemoveOutputs(environment, directory, stop);
    if (removed.ok())
      bytes += *removed;
    else
      LogWarning(StrCat("intermediates that nothing needs stay: ", removed.status().message()));
  }
  if (bytes > 0)
    environment.progress->Note(
        StrCat(HumanBytes(bytes), " of intermediates removed: nothing unfinished needs them"));
}

}  // namespace pipeline
