#include "dag/plan/planner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/inputs.h"
#include "dag/plan/lineages.h"
#include "dag/plan/partition_counts.h"
#include "dag/plan/unneeded_outputs.h"

namespace pipeline {

namespace {

class Planner {
 public:
  Planner(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
          const Selection& selection)
      : graph_(graph),
        snapshot_(snapshot),
        stored_(stored),
        selection_(selection),
        lineages_(graph, snapshot, selection) {}

  Result<Plan> Make() {
    plan_.refusals = CheckSelection(graph_, selection_);
    if (!plan_.refusals.empty()) return std::move(plan_);
    plan_.reports = lineages_.reports();
    for (const auto& [node, vanished] : lineages_.vanished())
      plan_.vanished.emplace(Name(node), StrCat(vanished.missing, "; recorded: ", vanished.recorded));
    for (const NodeId node : graph_.nodes().ids())
      if (IsTerminal(node)) RETURN_IF_ERROR(Demand(node));
    for (std::size_t at = 0; at < demanded_.size(); ++at)  // grows: CountReaders demands more
      RETURN_IF_ERROR(CountReaders(demanded_[at]));
    for (const NodeId node : demanded_) RETURN_IF_ERROR(SegmentFor({node, End::kGives}).status());
    RETURN_IF_ERROR(AddKept());
    OrderSegments();
    ApplySelection(graph_, selection_, plan_);
    LeaveOutDamaged(graph_, plan_);
    FindUnneeded(graph_, lineages_, refused_, plan_);
    if (std::string kept = KeptRules(graph_); !kept.empty() && !plan_.nothing_to_do())
      plan_.reports.push_back(std::move(kept));
    CheckInputs(graph_, snapshot_, plan_);
    if (!selection_.from_log)
      RETURN_IF_ERROR(CheckVanished(graph_, snapshot_, stored_, lineages_.vanished(), plan_));
    return std::move(plan_);
  }

 private:
  const Node& At(NodeId node) const { return graph_[node]; }
  const std::string& Name(NodeId node) const { return At(node).spec->name; }
  bool GivesRecords(NodeId node) const { return At(node).spec->type->gives == Flow::kRecords; }
  /// True for a stage that leaves an artifact with a manifest.
  bool MakesArtifact(NodeId node) const { return At(node).spec->type->publishes(); }
  /// Returns whether a run makes `node` for its own sake: it is an artifact, or the end of a line that nobody
  /// reads. `keep` is no reason to run: it only keeps records that are made anyway.
  bool IsTerminal(NodeId node) const {
    const bool unread = At(node).readers.empty() && At(node).named_input_readers.empty();
    return MakesArtifact(node) ? unread || !At(node).spec->out.empty() : GivesRecords(node) && unread;
  }
  const Lineage& LineageOf(NodeId node) const { return lineages_.Of(node); }

  /// Notes that `node` has to run, unless its output exists or may not be replaced.
  Status Demand(NodeId node) {
    if (!decided_.insert(node).second) return {};
    ASSIGN_OR_RETURN(const bool exists, Decide(node));
    if (!exists) demanded_.push_back(node);
    return {};
  }

  /// Does the same for records that are read as a whole. Existing records are not demanded, but still get a
  /// segment, which says where they are.
  Status DemandRecords(NodeId node) {
    ASSIGN_OR_RETURN(const bool exists, Exists({node, End::kGives}));
    if (!exists && decided_.insert(node).second) demanded_.push_back(node);
    return {};
  }

  /// True if `node` is left as it is: its output exists, or the artifact at its location may not be replaced.
  Result<bool> Decide(NodeId node) {
    if (MakesArtifact(node)) return DecidePublished(node);
    ASSIGN_OR_RETURN(const bool exists, Exists({node, End::kGives}));
    if (exists) UpToDate(node, "all its partitions exist");
    return exists;
  }

  /// The artifact at the location of `node`; null: there is none.
  Result<const Snapshot::Published*> PublishedOf(NodeId node) {
    if (!LocationOfStage(*At(node).spec).empty()) {
      const auto found = snapshot_.published.find(Name(node));
      return found == snapshot_.published.end() ? nullptr : &found->second;
    }
    auto known = kept_.find(node);
    if (known == kept_.end()) {
      ASSIGN_OR_RETURN(Snapshot::Published kept, stored_.at_location(LocationOf(node)));
      known = kept_.emplace(node, std::move(kept)).first;
    }
    return &known->second;
  }

  /// Returns "the Job goes on: OLD -> NEW" if the Job that left `there` has to go further or less far. Empty:
  /// it went as far as asked for. Old manifests do not say how far; the last line of the log counts instead.
  std::string Continues(NodeId node, const Manifest* there) const {
    std::string went;
    if (there != nullptr && !there->continues.is_null()) {
      went = there->continues.Dump();
    } else {
      const auto last = snapshot_.jobs.find(Name(node));
      if (last == snapshot_.jobs.end() || last->second.recipe != LineageOf(node).back().recipe) return {};
      went = last->second.continues;
    }
    const std::string wanted = ContinueConfig(At(node).spec->type->keys, At(node).spec->config);
    return went == wanted ? std::string() : StrCat("the Job goes on: ", went, " -> ", wanted);
  }

  Result<bool> DecidePublished(NodeId node) {
    ASSIGN_OR_RETURN(const Snapshot::Published* const found, PublishedOf(node));
    if (found == nullptr) return false;
    const Snapshot::Published& there = *found;
    if (there.foreign) {
      Refuse(node, StrCat(LocationOf(node), " holds objects that pipe did not write; name another `out`"));
      return true;
    }
    if (!there.manifest || Forced(node)) return false;
    if (there.manifest->recipe() == LineageOf(node).back().recipe) {
      const bool exists = there.whole && Continues(node, &*there.manifest).empty();
      if (!exists) return false;
      if (const std::string other = lineages_.OtherVersions(node); !other.empty())
        plan_.reports.push_back(StrCat("stage '", Name(node), "' was made with other versions (", other,
                                       "); it is reused as it is; --strict makes the difference count"));
      UpToDate(node, "its manifest exists");
      return true;
    }
    if (const Status& why = lineages_.unknown(node); !why.ok()) {
      Refuse(node, why.message());
      return true;
    }
    const std::vector<Difference> differences = Compare(there.manifest->lineage, LineageOf(node));
    const bool versioned = At(node).spec->config.Has("version");
    Refuse(node,
           StrCat(LocationOf(node), " holds another recipe (", Summary(differences), "); ",
                  versioned ? "raise `version`, " : "", "name another `out`, or replace it with --force ",
                  Name(node), "; --force of an earlier stage makes all stages after that one run again"));
    return true;
  }

  /// Notes a refusal about the artifact of `node`, if the selected run may write it.
  void Refuse(NodeId node, std::string_view why) {
    refused_.insert(node);
    if (!MayRun(graph_, selection_, node)) return;
    plan_.refusals.push_back(StrCat("stage '", Name(node), "': ", why));
  }

  void UpToDate(NodeId node, std::string why) {
    PlannedSegment segment(node);
    segment.state = PlannedSegment::State::kUpToDate;
    segment.publishes = MakesArtifact(node);
    segment.job = At(node).spec->type->job() != nullptr;
    segment.lineage = LineageOf(node);
    segment.keys = lineages_.KeysOf(node, End::kGives);
    segment.location = LocationOf(node);
    if (!segment.publishes || segment.job) segment.directory = DirectoryOf(segment.keys);
    segment.because.push_back(std::move(why));
    Add({node, End::kGives}, std::move(segment));
  }

  using Part = std::pair<NodeId, End>;  // a node, or the side of a barrier stage that takes records in

  SegmentId Add(Part part, PlannedSegment segment) {
    const SegmentId added = plan_.segments.push_back(std::move(segment));
    by_part_.insert_or_assign(part, added);
    return added;
  }

  std::string LocationOf(NodeId node) const {
    if (!MakesArtifact(node)) return {};
    const StageSpec& spec = *At(node).spec;
    std::string location = LocationOfStage(spec);
    if (!location.empty()) return location;
    const std::string directory = DirectoryOf(lineages_.KeysOf(node, End::kGives));
    return spec.out.empty() ? StrCat(kWorkLocation, directory)
                            : StrCat(spec.out, spec.out.ends_with('/') ? "" : "/", kRunLocation, directory);
  }

  /// Returns whether all partition outputs exist, whoever made them, and no --force ignores them.
  Result<bool> Exists(Part part) {
    if (Forced(part.first) || IsJob(part.first)) return false;
    if (!outputs_.contains(part)) {
      const OutputKeys keys = lineages_.KeysOf(part.first, part.second);
      ASSIGN_OR_RETURN(PartitionOutputs outputs, stored_.outputs(keys, DirectoryOf(keys)));
      outputs_.emplace(part, std::move(outputs));
    }
    return outputs_.at(part).complete();
  }

  bool IsJob(NodeId node) const { return At(node).spec->type->job() != nullptr; }
  bool IsReader(NodeId node) const { return At(node).spec->type->reader() != nullptr; }
  bool IsBarrier(NodeId node) const { return At(node).spec->type->barrier() != nullptr; }

  bool Forced(NodeId node) const { return IsForced(graph_, selection_, node); }

  /// Counts how many wanted segments read each stage, as far up from `end` as anything has to run, and
  /// demands the side inputs on the way.
  Status CountReaders(NodeId end) {
    ASSIGN_OR_RETURN(const bool complete, Exists({end, End::kGives}));
    bool reads = !complete;
    for (NodeId at = end;; at = *At(at).input) {
      for (const NamedInputEdge& edge : At(at).named_inputs)
        if (edge.node && reads && edge.named_input->takes == Flow::kRecords) readers_[*edge.node].insert(at);
      for (const NamedInputEdge& edge : At(at).named_inputs)
        if (edge.node && (reads || edge.named_input->takes == Flow::kArtifact))
          RETURN_IF_ERROR(edge.named_input->takes == Flow::kRecords ? DemandRecords(*edge.node)
                                                                    : Demand(*edge.node));
      const std::optional<NodeId> input = At(at).input;
      if (!input || At(at).spec->type->source() != nullptr) return {};
      if (MakesArtifact(*input)) return Demand(*input);
      if (IsBarrier(at)) {
        ASSIGN_OR_RETURN(const bool taken_in, Exists({at, End::kTakesIn}));
        if (!reads || taken_in) return {};
      }
      if (reads) readers_[*input].insert(at);
      ASSIGN_OR_RETURN(const bool exists, Exists({*input, End::kGives}));
      if (exists) return {};
    }
  }

  /// Returns whether a segment reads `node` from partition files; `complete`: it has all its partition
  /// outputs.
  Result<bool> IsUpstream(NodeId node, bool complete) {
    if (!GivesRecords(node)) return false;
    ASSIGN_OR_RETURN(const bool exists, Exists({node, End::kGives}));
    // A segment that reads nothing is no reason to make anything.
    if (exists || complete) return exists;
    const auto readers = readers_.find(node);
    return At(node).spec->keep || (readers != readers_.end() && readers->second.size() > 1);
  }

  /// Returns the segment that makes `part`; plans it on first use, after the segments that it needs.
  Result<SegmentId> SegmentFor(Part part) {
    if (const auto known = by_part_.find(part); known != by_part_.end()) return known->second;
    const auto [node, end] = part;
    PlannedSegment segment(node);
    segment.publishes = MakesArtifact(node);
    segment.job = IsJob(node);
    segment.takes_in = end == End::kTakesIn;
    ASSIGN_OR_RETURN(const bool complete, Exists(part));
    RETURN_IF_ERROR(FindChain(segment, complete));
    const Lineage outputs = lineages_.OfOutputs(node, end);
    segment.lineage = LineageOf(node);
    segment.output_lineage = outputs;
    segment.chain_lineage.assign(outputs.end() - static_cast<std::ptrdiff_t>(segment.chain.size()),
                                 outputs.end());
    segment.keys = lineages_.KeysOf(node, end);
    segment.directory = DirectoryOf(segment.keys);
    segment.location = LocationOf(node);
    segment.continues = ContinueConfig(At(node).spec->type->keys, At(node).spec->config);
    segment.forced = !selection_.force.empty() && RunsStage(graph_, segment, selection_.force);
    if (auto known = outputs_.extract(part)) {
      segment.outputs = std::move(known.mapped());
    } else if (!segment.job) {
      ASSIGN_OR_RETURN(segment.outputs, stored_.outputs(segment.keys, segment.directory));
    }
    if (segment.forced)
      for (OutputsOfInput& input : segment.outputs.inputs()) input.existing.clear();
    segment.varies = Varies(node);
    if (segment.upstream && !segment.job) DropStale(segment);
    if (!segment.job && !segment.chain.empty()) RETURN_IF_ERROR(DropMixed(segment));
    RETURN_IF_ERROR(Explain(segment));
    RETURN_IF_ERROR(FindSideInputs(segment));
    return Add(part, std::move(segment));
  }

  bool Varies(NodeId node) const {
    const std::vector<NodeId> line = graph_.Lineage(node);
    return std::any_of(line.begin(), line.end(), [this](NodeId at) {
      const StageSpec& spec = *At(at).spec;
      const std::vector<NamedInputEdge>& named_inputs = At(at).named_inputs;
      const ReaderKind* const reader = spec.type->reader();
      return (reader != nullptr && reader->varies && reader->varies(spec.config)) ||
             std::any_of(named_inputs.begin(), named_inputs.end(), [this](const NamedInputEdge& edge) {
               return edge.named_input->takes == Flow::kRecords && edge.node && Varies(*edge.node);
             });
    });
  }

  /// Drops all partition outputs, and their ends, of a segment that reads others as a whole, if one of these
  /// has to be made again and may come out different.
  Status DropMixed(PlannedSegment& segment) {
    for (const NamedInputEdge& edge : At(segment.chain.front()).named_inputs) {
      if (edge.named_input->takes != Flow::kRecords || !edge.node || !Varies(*edge.node)) continue;
      ASSIGN_OR_RETURN(const bool exists, Exists({*edge.node, End::kGives}));
      if (exists || segment.outputs.complete()) continue;
      for (OutputsOfInput& input : segment.outputs.inputs()) input = {};
    }
    return {};
  }

  /// Drops partition outputs whose upstream partitions have to be made again and may come out different.
  void DropStale(PlannedSegment& segment) {
    const PlannedSegment& upstream = plan_.segments[*segment.upstream];
    if (!upstream.varies) return;
    for (std::size_t at = 0; at < segment.outputs.inputs().size(); ++at)
      std::erase_if(segment.outputs.inputs()[at].existing, [&](const auto& output) {
        return !upstream.outputs.inputs()[at].existing.contains(output.first);
      });
  }

  /// Finds the stages that run fused, and the input of the first one.
  Status FindChain(PlannedSegment& segment, bool complete) {
    for (NodeId at = segment.node;; at = *At(at).input) {
      segment.chain.insert(segment.chain.begin(), at);
      const std::optional<NodeId> input = At(at).input;
      if (At(at).spec->type->source() != nullptr) {
        segment.files = input;
        return {};
      }
      if (!input || MakesArtifact(*input)) return {};  // a Job that reads no records
      if (IsBarrier(at) && !(segment.takes_in && at == segment.node)) {
        if (complete) return {};
        ASSIGN_OR_RETURN(segment.barrier, SegmentFor({at, End::kTakesIn}));
        return {};
      }
      ASSIGN_OR_RETURN(const bool upstream, IsUpstream(*input, complete));
      if (!upstream && IsReader(at) && complete) return {};
      if (!upstream && !IsReader(at) && !segment.job) continue;
      ASSIGN_OR_RETURN(segment.upstream, SegmentFor({*input, End::kGives}));
      return {};
    }
  }

  /// Finds the artifacts at the named inputs of the chain. A segment that is up to date demands none.
  Status FindSideInputs(PlannedSegment& segment) {
    const auto take = [&](NodeId reader, std::string_view named_input, NodeId maker) -> Status {
      if (segment.state != PlannedSegment::State::kWanted) {
        if (decided_.insert(maker).second) RETURN_IF_ERROR(Decide(maker).status());
        const auto known = by_part_.find({maker, End::kGives});
        PlannedSegment::SideInput& added = segment.side_inputs.emplace_back(
            PlannedSegment::SideInput{reader, std::string(named_input), {}, {}});
        if (known != by_part_.end()) added.segment = known->second;
        return {};
      }
      ASSIGN_OR_RETURN(const SegmentId made_by, SegmentFor({maker, End::kGives}));
      segment.side_inputs.push_back({reader, std::string(named_input), made_by, {}});
      return {};
    };
    for (const NodeId at : segment.chain) {
      for (const NamedInputEdge& edge : At(at).named_inputs) {
        // Nobody reads these records if all partition outputs exist.
        if (edge.named_input->takes == Flow::kRecords && segment.outputs.complete()) continue;
        if (edge.node)
          RETURN_IF_ERROR(take(at, edge.name, *edge.node));
        else
          segment.side_inputs.push_back({at, edge.name, {}, edge.file});
      }
    }
    const std::optional<NodeId> input = At(segment.node).input;
    if (segment.job && input && MakesArtifact(*input)) RETURN_IF_ERROR(take(segment.node, kJobInput, *input));
    return {};
  }

  /// Adds the records that `keep` has kept, for commands that clean the work directory.
  Status AddKept() {
    for (const NodeId node : graph_.nodes().ids()) {
      if (!At(node).spec->keep || by_part_.contains({node, End::kGives}) || !decided_.insert(node).second)
        continue;
      if (!GivesRecords(node) && !IsJob(node)) continue;
      ASSIGN_OR_RETURN(const bool exists, Decide(node));
      const auto known = outputs_.find({node, End::kGives});
      if (!exists && known != outputs_.end() && known->second.all_lie_there())
        UpToDate(node, "all its partition files exist");
    }
    return {};
  }

  /// Sorts the segments in the order of the graph, so that a segment comes after those that it needs.
  void OrderSegments() {
    std::vector<SegmentId> order = plan_.segments.ids();
    std::sort(order.begin(), order.end(), [&](SegmentId a, SegmentId b) {
      const PlannedSegment& left = plan_.segments[a];
      const PlannedSegment& right = plan_.segments[b];
      return std::pair(left.node, !left.takes_in) < std::pair(right.node, !right.takes_in);
    });
    IdVector<SegmentId, std::optional<SegmentId>> moved(order.size());  // by old id
    IdVector<SegmentId, PlannedSegment> ordered;
    for (const SegmentId at : order) moved[at] = ordered.push_back(std::move(plan_.segments[at]));
    const auto move = [&moved](std::optional<SegmentId>& segment) {
      if (segment) segment = moved[*segment];
    };
    for (PlannedSegment& segment : ordered) {
      move(segment.upstream), move(segment.barrier);
      for (PlannedSegment::SideInput& side_input : segment.side_inputs) move(side_input.segment);
    }
    plan_.segments = std::move(ordered);
  }

  Status Explain(PlannedSegment& segment) {
    const std::string& name = Name(segment.node);
    segment.state = PlannedSegment::State::kWanted;
    if (segment.forced) segment.because.push_back(StrCat("--force ", selection_.force));
    if (segment.publishes) {
      ASSIGN_OR_RETURN(const Snapshot::Published* const there, PublishedOf(segment.node));
      const bool damaged = there != nullptr && !there->damaged.ok();
      if (damaged && !Forced(segment.node)) segment.damaged = there->damaged.message();
      segment.replaces = there != nullptr && (there->manifest || damaged);
      if (segment.replaces) segment.manifest_version = there->manifest_version;
      if (segment.replaces && !there->whole)
        segment.because.push_back(StrCat("published object ", there->missing, " is gone or was changed"));
      const Manifest* const manifest = segment.replaces && !damaged ? &*there->manifest : nullptr;
      if (const std::string on = Continues(segment.node, manifest); !on.empty())
        segment.because.push_back(on);
    }
    if (const auto other = snapshot_.elsewhere.find(name);
        segment.publishes && !segment.forced && other != snapshot_.elsewhere.end() &&
        other->second.location != segment.location &&
        Continues(segment.node, &other->second.manifest).empty() &&
        other->second.manifest.recipe() == segment.recipe()) {
      segment.copy_from = other->second.location;
      segment.because.push_back(StrCat("`out` is new: copied from ", other->second.location));
      return {};
    }
    if (!segment.publishes && segment.outputs.complete() && !snapshot_.refused.contains(segment.keys.stage)) {
      segment.state = PlannedSegment::State::kUpToDate;
      segment.because.push_back("all its partitions exist");
      return {};
    }
    if (const auto logged = snapshot_.logged.find(name); logged == snapshot_.logged.end()) {
      if (segment.because.empty()) segment.because.push_back("it never ran");
    } else {
      for (const Difference& difference : Compare(logged->second, LineageOf(segment.node)))
        segment.because.push_back(ToString(difference));
    }
    if (const std::vector<std::string>& lost = segment.outputs.lost(); !lost.empty())
      segment.because.push_back(StrCat("the run log has lost lines with counts (", FirstOf(lost), ")"));
    if (segment.because.empty() && Forced(segment.node))
      segment.because.push_back(
          StrCat("it is made from outputs that --force ", selection_.force, " makes again"));
    if (segment.outputs.missing_objects() > 0)
      segment.because.push_back(
          StrCat(segment.outputs.missing_objects(),
                 " of its intermediate objects are gone; a run removes those that nothing unfinished needs"));
    if (segment.because.empty()) segment.because.push_back("an earlier run did not finish it");
    return {};
  }

  const Graph& graph_;
  const Snapshot& snapshot_;
  const StoredOutputs& stored_;
  const Selection& selection_;
  const Lineages lineages_;
  Plan plan_;
  std::set<NodeId> decided_;                    // nodes that were decided
  std::set<NodeId> refused_;                    // those whose artifact stays although it has another recipe
  std::vector<NodeId> demanded_;                // decided nodes that have to run
  std::map<NodeId, std::set<NodeId>> readers_;  // by stage: its readers that have to run
  std::map<Part, SegmentId> by_part_;
  std::map<Part, PartitionOutputs> outputs_;    // loaded once, because there may be 100,000
  std::map<NodeId, Snapshot::Published> kept_;  // artifacts whose location has their recipe in its name
};

}  // namespace

Result<Plan> MakePlan(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
                      const Selection& selection) {
  return Planner(graph, snapshot, stored, selection).Make();
}

}  // namespace pipeline
