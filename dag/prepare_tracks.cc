#include "dag/prepare_tracks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/str.h"
#include "dag/memory_share.h"
#include "dag/publisher.h"

namespace pipeline {

namespace {

class Preparer {
 public:
  Preparer(const Graph& graph, const Plan& plan, const Environment& environment, const RunOptions& options)
      : graph_(graph), plan_(plan), environment_(environment), options_(options) {}

  Result<PreparedTracks> Make() {
    for (const PlannedSegment& planned : plan_.segments) {
      auto track = std::make_unique<Track>();
      track->planned = &planned;
      RETURN_IF_ERROR(Equip(*track));
      if (track->active() && track->origin == nullptr)
        made_.streams += static_cast<int>(track->inputs.size());
      made_.tracks.push_back(std::move(track));
    }
    made_.streams = std::min(made_.streams, options_.threads);
    for (const std::unique_ptr<Track>& track : made_.tracks)
      if (track->active() && track->planned->copy_from.empty()) RETURN_IF_ERROR(DivideMemory(track->scope));
    return std::move(made_);
  }

 private:
  Status Equip(Track& track) {
    const PlannedSegment& planned = *track.planned;
    if (planned.chain.empty()) return {};  // up to date by its manifest: nobody asks for more
    track.scope.planned = &planned;
    track.scope.environment = &environment_;
    track.scope.options = &options_;
    for (const InputPieces& input : planned.pieces.inputs()) track.inputs.emplace_back().pieces = input;
    if (planned.origin >= 0) Connect(track, *made_.tracks[static_cast<std::size_t>(planned.origin)]);
    ASSIGN_OR_RETURN(track.scope.directory, environment_.work_store("artifacts/" + planned.directory));
    ASSIGN_OR_RETURN(track.scope.work, environment_.work_store(""));
    for (const LineageStage& stage : planned.piece_lineage)
      if (Counts(planned, stage.stage)) track.scope.chain.push_back({stage.stage, stage.recipe});
    if (planned.state == PlannedSegment::State::kNotSelected) return {};
    if (planned.publishes) {
      ASSIGN_OR_RETURN(track.out, environment_.open_store(planned.place));
    }
    // An up-to-date origin is made ready all the same: a damaged partition of it may have to be made again.
    std::unique_ptr<SinkStage> sink;
    if (!planned.publishes) {
      ASSIGN_OR_RETURN(sink, environment_.intermediate->NewSink(NodeAt(planned.node).out));
    }
    const std::string origin_name = track.origin ? track.origin->name() : std::string();
    ASSIGN_OR_RETURN(track.scope.assembly, Assemble(graph_, planned.chain, origin_name, std::move(sink)));
    track.scope.source_partition_bytes = PartitionBytes(planned);
    if (planned.state == PlannedSegment::State::kWanted) track.phase = Track::Phase::kPieces;
    return {};
  }

  static void Connect(Track& track, Track& origin) {
    track.origin = &origin;
    origin.readers.push_back(&track);
    for (std::size_t at = 0; at < track.inputs.size(); ++at) {
      track.inputs[at].pieces.end = origin.inputs[at].pieces.end;
      for (const auto& [partition, standing] : origin.inputs[at].pieces.standing)
        track.Offer({static_cast<std::uint32_t>(at), partition});
    }
  }

  const Node& NodeAt(int node) const { return graph_.nodes()[static_cast<std::size_t>(node)]; }

  /// True for the stages that count in the segment: its chain, and the one whose partitions it reads.
  bool Counts(const PlannedSegment& planned, const std::string& stage) const {
    const auto is = [&](int node) { return NodeAt(node).spec->name == stage; };
    return std::any_of(planned.chain.begin(), planned.chain.end(), is) ||
           (planned.origin >= 0 && is(plan_.segments[static_cast<std::size_t>(planned.origin)].node));
  }

  /// How much text a partition holds by the configuration of the Source it began with.
  std::uint64_t PartitionBytes(const PlannedSegment& planned) const {
    for (const int node : graph_.Lineage(planned.node))
      if (NodeAt(node).spec->type->is_source())
        return static_cast<std::uint64_t>(NodeAt(node).spec->config["partition"].AsInt(64 << 20));
    return 64 << 20;
  }

  Status DivideMemory(SegmentScope& scope) const {
    MemoryNeeds needs;
    needs.limit = options_.memory_bytes;
    needs.units = std::max(made_.streams, 1);
    needs.threads = options_.threads;
    needs.batch_bytes = options_.batch_bytes;
    needs.partition_bytes = scope.assembly.sink->partition_memory(scope.source_partition_bytes);
    Result<MemoryShare> share = ShareMemory(needs);
    if (!share.ok())
      return std::move(share).status().Annotate(StrCat("stage '", scope.planned->keys.stage, "'"));
    scope.tokens = share->tokens;
    scope.closings = share->closings;
    return {};
  }

  const Graph& graph_;
  const Plan& plan_;
  const Environment& environment_;
  const RunOptions& options_;
  PreparedTracks made_;
};

}  // namespace

Result<PreparedTracks> PrepareTracks(const Graph& graph, const Plan& plan, const Environment& environment,
                                     const RunOptions& options) {
  return Preparer(graph, plan, environment, options).Make();
}

Status ClaimPlaces(const PreparedTracks& prepared) {
  for (const std::unique_ptr<Track>& track : prepared.tracks)
    if (track->active() && track->out) RETURN_IF_ERROR(LayClaim(track->scope, *track->out));
  return {};
}

Status DescribeSegments(const PreparedTracks& prepared, RunLog& log) {
  for (const std::unique_ptr<Track>& track : prepared.tracks) {
    if (!track->scope.assembly.sink) continue;  // runs nothing, not even to make a damaged piece again
    ASSIGN_OR_RETURN(track->scope.log_segment, log.AppendSegment(ToJson(track->planned->lineage).Dump()));
  }
  return {};
}

}  // namespace pipeline
