#include "dag/run/prepare_segments.h"

#include <optional>
#include <string>
#include <utility>

#include "base/str.h"
#include "dag/books/manifest.h"
#include "dag/keys.h"
#include "dag/location/held_store.h"
#include "dag/location/publishing.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

/// Opens the artifacts and files at the named inputs of the chain; puts their content into the content keys.
Result<Artifacts> OpenArtifacts(const Graph& graph, const Plan& plan, SideInputOutputs outputs,
                                SegmentState& state) {
  const PlannedSegment& planned = *state.planned;
  SegmentScope& scope = state.scope;
  scope.contents = planned.chain_lineage;
  scope.content_stage = planned.lineage.back();
  const auto replace = [](LineageStage& stage, const std::string& name, const Digest& content) {
    for (LineageInput& named_input : stage.named_inputs)
      if (named_input.name == name) named_input.digest = content;
  };
  Artifacts artifacts;
  const auto note = [&](const PlannedSegment::SideInput& side_input, const Digest& content) {
    for (std::size_t at = 0; at < planned.chain.size(); ++at)
      if (planned.chain[at] == side_input.reader)
        replace(scope.contents[at], side_input.named_input, content);
    if (planned.node == side_input.reader) replace(scope.content_stage, side_input.named_input, content);
  };
  for (std::size_t number = 0; number < planned.side_inputs.size(); ++number) {
    const PlannedSegment::SideInput& side_input = planned.side_inputs[number];
    ArtifactInput& input = artifacts[side_input.reader][side_input.named_input];
    if (!side_input.file.empty()) {
      const std::size_t slash = side_input.file.rfind('/');
      const std::string directory = slash == std::string::npos ? "." : side_input.file.substr(0, slash + 1);
      ASSIGN_OR_RETURN(input.directory, scope.environment->open_store(directory));
      input.uri = directory;
      input.file = slash == std::string::npos ? side_input.file : side_input.file.substr(slash + 1);
      continue;
    }
    if (!side_input.segment)
      return Status(Code::kFailedPrecondition,
                    StrCat("stage '", planned.keys.stage, "' cannot be made ready: the artifact at `",
                           side_input.named_input, "` is gone; run again"));
    const PlannedSegment& maker = plan.segments[*side_input.segment];
    if (!maker.publishes) {
      ASSIGN_OR_RETURN(input.directory, OpenOutputs(*scope.environment, maker.directory));
      input.uri = maker.keys.stage;
      input.outputs = std::move(outputs[number]);
      note(side_input, RecordsContent(ContentOf(input.outputs), graph[maker.node].out));
      continue;
    }
    const std::string& location = maker.location;
    ASSIGN_OR_RETURN(input.directory, OpenLocation(*scope.environment, location));
    input.uri = UriOfLocation(*scope.environment, location);
    ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(*input.directory, location));
    const Digest content = manifest.ContentRoot();
    input.facts = std::move(manifest.facts);
    if (side_input.named_input == kJobInput) state.artifact_input = content;
    note(side_input, content);
  }
  return artifacts;
}

constexpr std::uint64_t kProgram = 48 << 20;  // code, dictionaries mapped by libraries, stacks, rings
constexpr std::uint64_t kGrowth =
    6;  // a batch of text with its columns, payload and scratch (measured, bench/)
constexpr std::size_t kMostWaiting = 2;
constexpr std::uint64_t kMebibyte = 1 << 20;

/// The numbers that divide `limits.memory` among the units that run at the same time.
struct MemoryNeeds {
  std::uint64_t limit = 0;   // limits.memory
  std::uint64_t models = 0;  // of all stages of the segment
  std::uint64_t inputs = 0;  // see MemoryOfInputs
  int units = 1;             // first-pass units that run at the same time
  int threads = 1;
  std::uint64_t batch_bytes = 0;
  std::uint64_t partition_bytes = 0;  // one open partition in the Sink
};

struct UnitLimits {
  std::size_t tokens = 0;              // batches of one unit
  std::uint64_t text_bytes = 0;        // text of these batches together, as it is read
  std::size_t waiting_partitions = 0;  // partitions of one unit that may wait to be committed
  std::uint64_t decoder_memory = 0;    // bytes for decoded text of one unit that waits to be cut
};

std::uint64_t LeastTokens(const MemoryNeeds& needs) { return static_cast<std::uint64_t>(needs.threads) + 1; }

/// Returns the bytes with which each unit can write one partition while the one before is committed.
std::uint64_t LeastBytes(const MemoryNeeds& needs) {
  return kProgram + needs.models + needs.inputs +
         static_cast<std::uint64_t>(needs.units) *
             (LeastTokens(needs) * needs.batch_bytes * kGrowth + 2 * needs.partition_bytes);
}

/// Returns as many tokens and waiting partitions as fit, and half of what is left then for decoders.
/// kInvalidArgument: there is no room for one partition that is written while another is committed; the
/// message says how much is needed.
Result<UnitLimits> LimitsOfUnit(const MemoryNeeds& needs) {
  const auto units = static_cast<std::uint64_t>(needs.units);
  const std::uint64_t per_batch = needs.batch_bytes * kGrowth;
  const std::uint64_t least = LeastBytes(needs);
  const std::uint64_t least_tokens = LeastTokens(needs);
  for (std::size_t waiting = kMostWaiting + 1; waiting-- > 0;) {
    const std::uint64_t used = least + units * waiting * needs.partition_bytes;
    if (used > needs.limit) continue;
    const std::uint64_t left = needs.limit - used;
    const std::uint64_t more = left / 4 / units / std::max<std::uint64_t>(per_batch, 1);
    const std::uint64_t most = 4 * static_cast<std::uint64_t>(needs.threads);
    return UnitLimits{static_cast<std::size_t>(std::min(least_tokens + more, std::max(most, least_tokens))),
                      least_tokens * needs.batch_bytes + left / 4 / units / kGrowth, waiting,
                      left / 2 / units};
  }
  const bool of_inputs = needs.inputs > least - needs.inputs;
  return Status(
      Code::kInvalidArgument,
      StrCat("limits.memory of ", HumanBytes(needs.limit), " cannot hold ",
             of_inputs ? StrCat("what a run keeps of so many input files and their partitions, ",
                                HumanBytes(needs.inputs), ", and ")
                       : std::string(),
             "two partitions of ", HumanBytes(needs.partition_bytes), " for each of ", needs.units,
             " inputs and ", needs.threads, " threads; give it ", (least + kMebibyte - 1) / kMebibyte, "MiB",
             of_inputs ? ", or join the files to fewer, larger ones"
                       : ", or lower `partition` of the source, or -j"));
}

std::uint64_t ModelMemory(const Graph& graph, const PlannedSegment& planned) {
  std::uint64_t bytes = 0;
  for (const NodeId node : planned.chain) {
    const StageSpec& spec = *graph[node].spec;
    bytes += spec.type->model_memory(spec.config);
  }
  return bytes;
}

/// Returns the memory of a partition of the Sink. If the Sink is not made yet, its type says it; otherwise
/// this is a guess.
std::uint64_t PartitionMemory(const Graph& graph, const SegmentScope& scope) {
  const std::uint64_t text = scope.source_partition_bytes;
  if (scope.assembly.sink) return scope.assembly.sink->partition_memory(text);
  const StageSpec& last = *graph[scope.planned->chain.back()].spec;
  const SinkKind* const sink = last.type->sink();
  return sink != nullptr && sink->partition_memory ? sink->partition_memory(last.config, text) : 2 * text;
}

/// Returns the needs of one unit on one thread.
MemoryNeeds MemoryNeedsOf(const Graph& graph, const SegmentScope& scope) {
  MemoryNeeds needs;
  needs.limit = scope.options->memory_bytes;
  needs.inputs = scope.input_memory;
  needs.models = ModelMemory(graph, *scope.planned);
  for (const auto& transform : scope.assembly.transforms) needs.models += transform->memory();
  needs.batch_bytes = scope.options->batch_bytes;
  needs.partition_bytes = PartitionMemory(graph, scope);
  return needs;
}

Status DivideMemory(const Graph& graph, int streams, SegmentScope& scope) {
  const std::string stage = StrCat("stage '", scope.planned->keys.stage, "'");
  const ExecutionMode mode = scope.options->mode;
  MemoryNeeds needs = MemoryNeedsOf(graph, scope);
  if (needs.models >= needs.limit)
    return Status(Code::kInvalidArgument, StrCat(stage, ": limits.memory of ", HumanBytes(needs.limit),
                                                 " cannot hold its model of ", HumanBytes(needs.models)));
  // A worker runs one unit at a time, and the planner none.
  if (mode == ExecutionMode::kAll) needs.units = std::max(streams, 1);
  if (mode != ExecutionMode::kPlanning) needs.threads = scope.options->threads;
  Result<UnitLimits> limits = LimitsOfUnit(needs);
  // With many cores and little memory fewer batches are alive, and some of the cores wait.
  while (!limits.ok() && mode == ExecutionMode::kOneUnit && needs.threads > 1) {
    --needs.threads;
    limits = LimitsOfUnit(needs);
  }
  if (!limits.ok()) return std::move(limits).status().Annotate(stage);
  scope.tokens = limits->tokens;
  scope.text_bytes = limits->text_bytes;
  scope.waiting_partitions = limits->waiting_partitions;
  scope.decoder_memory = limits->decoder_memory;
  return {};
}

class Preparer {
 public:
  Preparer(const Graph& graph, const Plan& plan, const Environment& environment, const RunOptions& options)
      : graph_(graph),
        plan_(plan),
        environment_(environment),
        options_(options),
        input_memory_(MemoryOfInputs(plan)) {}

  Result<PreparedSegments> Make() {
    for (const PlannedSegment& planned : plan_.segments) {
      auto state = std::make_unique<SegmentState>();
      state->planned = &planned;
      RETURN_IF_ERROR(Equip(*state));
      if (state->active() && state->upstream == nullptr)
        made_.streams += static_cast<int>(state->inputs.size());
      if (state->active() && graph_[planned.chain.front()].spec->type->reader() != nullptr)
        made_.readers = options_.threads;
      made_.states.push_back(std::move(state));
    }
    made_.streams = std::min(made_.streams, options_.threads);
    for (const std::unique_ptr<SegmentState>& state : made_.states) {
      const PlannedSegment& planned = *state->planned;
      if (state->scope.planned == nullptr || planned.state == PlannedSegment::State::kNotSelected) continue;
      if (!planned.copy_from.empty()) continue;
      if (!options_.stage.empty() && state->name() != options_.stage) continue;  // other processes run it
      if (CanBeMade(*state)) {
        RETURN_IF_ERROR(MakeStages(graph_, plan_, made_.streams, SideInputOutputsOf(*state), *state));
        state->stages = SegmentState::Stages::kMade;
      } else if (state->active() && !planned.job) {
        RETURN_IF_ERROR(DivideMemory(graph_, made_.streams, state->scope));
      }
    }
    return std::move(made_);
  }

 private:
  /// An up-to-date upstream segment is also prepared, because a damaged partition of it may have to be made
  /// again. If its stages cannot be made, the run still begins.
  static bool CanBeMade(const SegmentState& state) {
    if (!state.has_artifacts()) return false;
    return state.active() ||
           std::none_of(state.planned->side_inputs.begin(), state.planned->side_inputs.end(),
                        [](const PlannedSegment::SideInput& side_input) {
                          return !side_input.segment && side_input.file.empty();
                        });
  }

  Status Equip(SegmentState& state) {
    const PlannedSegment& planned = *state.planned;
    const bool up_to_date = planned.state == PlannedSegment::State::kUpToDate;
    if (!up_to_date)
      for (const SegmentId need : NeedsOf(planned)) StateOf(need).takers.push_back(&state);
    // Before the run, RemoveUnneeded has removed them.
    const std::vector<std::string>& unneeded = plan_.unneeded;
    state.removed =
        up_to_date &&
        (planned.publishes || (RemovesOutputs(options_) && std::find(unneeded.begin(), unneeded.end(),
                                                                     planned.directory) != unneeded.end()));
    if (planned.chain.empty()) return {};  // up to date by its manifest: nothing more is needed
    state.scope.planned = &planned;
    state.scope.environment = &environment_;
    state.scope.options = &options_;
    state.scope.input_memory = input_memory_;
    for (const OutputsOfInput& input : planned.outputs.inputs()) state.inputs.emplace_back().outputs = input;
    if (planned.upstream) Connect(state, StateOf(*planned.upstream));
    if (planned.barrier) state.barrier = &StateOf(*planned.barrier);
    for (const PlannedSegment::SideInput& side_input : planned.side_inputs)
      if (side_input.segment) state.makers.push_back(&StateOf(*side_input.segment));
    ASSIGN_OR_RETURN(state.scope.directory, OpenOutputs(environment_, planned.directory));
    ASSIGN_OR_RETURN(state.scope.work, environment_.work_store(""));
    for (const LineageStage& stage : planned.output_lineage)
      if (const bool read = IsRead(planned, stage.stage); read || IsIn(planned, stage.stage))
        state.scope.chain.push_back({stage.stage, stage.recipe, read});
    if (planned.state == PlannedSegment::State::kNotSelected) return {};
    if (planned.publishes) {
      ASSIGN_OR_RETURN(state.out, OpenLocation(environment_, planned.location));
      state.scope.names = NameTestsOf(graph_, planned.node);
    }
    state.scope.source_partition_bytes = PartitionBytes(planned);
    if (planned.state == PlannedSegment::State::kWanted) state.phase = SegmentState::Phase::kPartitions;
    return {};
  }

  SegmentState& StateOf(SegmentId segment) { return *made_.states[segment]; }

  static void Connect(SegmentState& state, SegmentState& upstream) {
    state.upstream = &upstream;
    if (state.planned->job) return;  // it reads all partitions, once they exist
    upstream.readers.push_back(&state);
    for (std::size_t at = 0; at < state.inputs.size(); ++at) {
      state.inputs[at].outputs.end = upstream.inputs[at].outputs.end;
      for (const auto& [partition, existing] : upstream.inputs[at].outputs.existing)
        state.Offer({static_cast<std::uint32_t>(at), partition});
    }
  }

  bool IsIn(const PlannedSegment& planned, const std::string& stage) const {
    return std::any_of(planned.chain.begin(), planned.chain.end(),
                       [&](NodeId node) { return graph_[node].spec->name == stage; });
  }

  /// True for the stage whose partitions the segment reads.
  bool IsRead(const PlannedSegment& planned, const std::string& stage) const {
    return planned.upstream && graph_[plan_.segments[*planned.upstream].node].spec->name == stage;
  }

  /// Returns the bytes of text of a partition, from the configuration of the Source or barrier stage that cut
  /// it.
  std::uint64_t PartitionBytes(const PlannedSegment& planned) const {
    std::int64_t bytes = 64 << 20;
    for (const NodeId node : graph_.Lineage(planned.node)) {
      const StageSpec& spec = *graph_[node].spec;
      const bool gives = spec.type->barrier() != nullptr && !(planned.takes_in && node == planned.node);
      if (spec.type->source() == nullptr && !gives) continue;
      bytes = spec.config["partition"].AsInt(bytes);
      if (gives) bytes = std::min(bytes, spec.config["bytes"].AsInt(bytes));  // it gives no more
    }
    return static_cast<std::uint64_t>(bytes);
  }

  const Graph& graph_;
  const Plan& plan_;
  const Environment& environment_;
  const RunOptions& options_;
  const std::uint64_t input_memory_;
  PreparedSegments made_;
};

/// Fails if another run has published at the location after the plan looked there and before the lease.
Status CheckUnchanged(const PlannedSegment& planned, Store& out) {
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> manifest, out.Stat(kManifestName));
  if ((manifest ? manifest->version : std::string()) == planned.manifest_version) return {};
  return Status(
      Code::kFailedPrecondition,
      StrCat(planned.location, ": another run has published or removed the artifact since this run was ",
             "planned; run it again"));
}

}  // namespace

Result<PreparedSegments> PrepareSegments(const Graph& graph, const Plan& plan, const Environment& environment,
                                         const RunOptions& options) {
  return Preparer(graph, plan, environment, options).Make();
}

std::uint64_t LeastMemory(const Graph& graph, const SegmentScope& scope) {
  return LeastBytes(MemoryNeedsOf(graph, scope));
}

SideInputOutputs SideInputOutputsOf(const SegmentState& state) {
  SideInputOutputs outputs;
  auto maker = state.makers.begin();  // has the side inputs that a segment makes, in the same order
  for (const PlannedSegment::SideInput& side_input : state.planned->side_inputs) {
    std::vector<PartitionOutput>& of_this = outputs.emplace_back();
    if (!side_input.segment) continue;
    const SegmentState& made_by = **maker++;
    if (!made_by.planned->publishes) of_this = made_by.all_outputs();
  }
  return outputs;
}

Status MakeStages(const Graph& graph, const Plan& plan, int streams, SideInputOutputs outputs,
                  SegmentState& state) {
  const PlannedSegment& planned = *state.planned;
  SegmentScope& scope = state.scope;
  ASSIGN_OR_RETURN(const Artifacts artifacts, OpenArtifacts(graph, plan, std::move(outputs), state));
  std::unique_ptr<SinkStage> sink;
  if (!planned.publishes && !planned.takes_in) {
    ASSIGN_OR_RETURN(sink, scope.environment->intermediate->NewSink(graph[planned.node].out));
  }
  const std::string upstream =
      state.upstream != nullptr && !planned.job ? state.upstream->name() : std::string();
  ASSIGN_OR_RETURN(scope.assembly, Assemble(graph, planned, upstream, std::move(sink), artifacts));
  return planned.job ? Status() : DivideMemory(graph, streams, scope);
}

Result<std::unique_ptr<LeaseKeeper>> MarkLocations(PreparedSegments& prepared, const Environment& environment,
                                                   std::stop_token stop) {
  // The lock of the work directory holds the locations below it.
  const auto is_shared = [](const SegmentState& state) {
    return state.active() && state.out && !state.planned->location.starts_with(kWorkLocation);
  };
  std::vector<HeldLocation> shared;
  for (const std::unique_ptr<SegmentState>& state : prepared.states)
    if (is_shared(*state)) shared.emplace_back(state->planned->location, state->out.get());
  const auto note = [&environment](std::string_view line) { environment.progress->Note(line); };
  ASSIGN_OR_RETURN(
      std::unique_ptr<LeaseKeeper> keeper,
      LeaseKeeper::Take(std::move(shared), environment.lease, SystemLeaseWait(), SystemClock(), note, stop));
  for (const std::unique_ptr<SegmentState>& state : prepared.states) {
    if (!state->active() || !state->out) continue;
    if (is_shared(*state)) {
      RETURN_IF_ERROR(CheckUnchanged(*state->planned, *state->out));
      const std::string& location = state->planned->location;
      LeaseKeeper& held = *keeper;
      state->scope.confirm = [&held, location](std::stop_token stopped) {
        return held.Confirm(location, stopped);
      };
      state->out = HoldStore(std::move(state->out), [&held, location](std::stop_token stopped) {
        return held.Check(location, stopped);
      });
    }
    RETURN_IF_ERROR(WriteMarker(state->scope.publishing(), *state->out));
  }
  return keeper;
}

Status DescribeSegments(const PreparedSegments& prepared, RunLog& log) {
  for (const std::unique_ptr<SegmentState>& state : prepared.states) {
    const PlannedSegment& planned = *state->planned;
    // Such a segment runs nothing, not even to make a damaged partition output again.
    if (state->scope.planned == nullptr || planned.state == PlannedSegment::State::kNotSelected) continue;
    if (state->scope.log_segment != 0) continue;  // the lineage of 10,000 inputs is long
    ASSIGN_OR_RETURN(state->scope.log_segment, log.AppendSegment(ToJson(planned.lineage).Dump()));
  }
  return {};
}

}  // namespace pipeline
