#include "dag/run/unit_needs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "dag/books/unit_id.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/pipeline_file/subset.h"
#include "dag/run/artifact_summary.h"
#include "dag/run/executor.h"
#include "dag/run/run_state.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

std::uint64_t StoredBytes(const std::vector<PartitionOutput>& outputs) {
  std::uint64_t bytes = 0;
  for (const PartitionOutput& output : outputs) bytes += BytesOf(output.committed.objects);
  return bytes;
}

std::uint64_t Times(std::uint64_t bytes, double factor) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
}

class NeedsFinder {
 public:
  explicit NeedsFinder(const RunState& run) : run_(run) {
    for (const std::unique_ptr<SegmentState>& state : run.prepared.states)
      stages_.try_emplace(state->name(), Stage{*state, {}, {}, {}});
  }

  UnitNeeds Of(const std::string& unit) {
    const std::optional<UnitId> id = ParseUnitId(unit);
    Stage& stage = stages_.at(id->stage);
    if (std::holds_alternative<JobId>(id->part)) return OfJob(stage.state);
    if (std::holds_alternative<ShardId>(id->part)) return OfShards(stage, unit);
    UnitNeeds needs;
    needs.memory = LeastMemory(run_.graph, stage.state.scope);
    needs.cores = 1;
    if (const auto* const stream = std::get_if<StreamId>(&id->part))
      ReadsInput(stage, stream->input, needs);
    else
      ReadsPartition(stage, std::get<PartitionId>(id->part), needs);
    if (const double growth = GrowthOf(stage); needs.bytes_in && growth > 0)
      needs.bytes_out = Times(*needs.bytes_in, growth);
    return needs;
  }

 private:
  struct Stage {
    const SegmentState& state;
    std::optional<std::vector<PartitionOutput>> outputs;     // read when they are needed
    std::map<std::string, std::size_t, std::less<>> groups;  // of shards, by unit; the same
    std::optional<double> growth;                            // the same
  };

  static const std::vector<PartitionOutput>& OutputsOf(Stage& stage) {
    if (!stage.outputs) stage.outputs = stage.state.all_outputs();
    return *stage.outputs;
  }

  UnitNeeds OfJob(const SegmentState& state) {
    UnitNeeds needs;
    ArtifactTotals input;
    if (state.upstream != nullptr) {
      const std::vector<PartitionOutput>& outputs = OutputsOf(stages_.at(state.upstream->name()));
      needs.bytes_in = StoredBytes(outputs);
      ArtifactSummary summary = Summarize(*run_.environment.log, *state.upstream->planned, outputs);
      input = {std::move(summary.splits), std::move(summary.counts[state.upstream->name()])};
    }
    // A failure is the unit's: its worker reports it.
    if (const Result<std::uint64_t> memory = state.scope.assembly.job->Memory(input); memory.ok())
      needs.memory = *memory;
    return needs;
  }

  UnitNeeds OfShards(Stage& stage, const std::string& unit) {
    const Publisher& publisher = *stage.state.publisher;
    if (stage.groups.empty())
      for (std::size_t group = 0; group < publisher.groups().size(); ++group)
        stage.groups.emplace(publisher.UnitOf(group), group);
    const std::size_t group = stage.groups.at(unit);
    const Publisher::Splits& splits = stage.state.summary.splits;
    const double share = publisher.ShareOf(group, splits);
    std::uint64_t text = 0;
    for (const auto& [split, total] : splits) text += total.bytes;
    UnitNeeds needs;
    needs.memory = LeastMemory(run_.graph, stage.state.scope);
    needs.cores = 1;
    needs.bytes_in = Times(StoredBytes(OutputsOf(stage)), share);
    needs.bytes_out = Times(text, share * publisher.growth());
    // A shard lies there until it is uploaded.
    if (IsRemote(stage.state.planned->location))
      needs.scratch = *needs.bytes_out / std::max<std::size_t>(publisher.groups()[group].size(), 1);
    return needs;
  }

  void ReadsInput(const Stage& stage, std::uint32_t number, UnitNeeds& needs) {
    if (stage.state.barrier != nullptr)
      needs.bytes_in = StoredBytes(OutputsOf(stages_.at(stage.state.barrier->name())));
    else if (const SourceFile* const file = FileOf(stage.state, number))
      ReadsFile(stage.state, *file, 0, 1, needs);
  }

  void ReadsPartition(const Stage& stage, PartitionId id, UnitNeeds& needs) const {
    if (const SegmentState* const upstream = stage.state.upstream) {
      const auto& made = upstream->inputs[id.input].outputs.existing;
      if (const auto found = made.find(id.partition); found != made.end())
        needs.bytes_in = BytesOf(found->second.output.committed.objects);
      return;
    }
    const SourceFile* const file = FileOf(stage.state, id.input);
    const OutputsOfInput& outputs = stage.state.inputs[id.input].outputs;
    const InputCuts* const cuts = outputs.cuts.get();
    if (file == nullptr || cuts == nullptr || id.partition >= cuts->ends.size()) return;
    if (!cuts->end) return;  // nobody knows yet which share of the file it is
    const auto all =
        static_cast<double>(std::max<std::uint64_t>({cuts->end->raw_bytes, cuts->ends.back().raw_end, 1}));
    const std::uint64_t begin = id.partition == 0 ? 0 : cuts->ends[id.partition - 1].raw_end;
    ReadsFile(stage.state, *file, static_cast<double>(begin) / all,
              static_cast<double>(cuts->ends[outputs.LastOfUnit(id.partition)].raw_end) / all, needs);
  }

  /// The unit reads `file` from one share of it to another.
  void ReadsFile(const SegmentState& state, const SourceFile& file, double begin, double end,
                 UnitNeeds& needs) const {
    const Result<Subset> subset = SubsetOf(run_.graph[state.planned->chain.front()].spec->config);
    if (!subset.ok() || subset->is_beginning()) return;  // it reads less, and nobody knows how much
    needs.bytes_in = Times(file.size, end - begin);
    // A remote file is downloaded from its front.
    if (IsRemote(file.input.path)) needs.scratch = Times(file.size, end);
  }

  /// Null: the input is no file.
  const SourceFile* FileOf(const SegmentState& state, std::uint32_t number) const {
    if (!state.planned->files || state.barrier != nullptr) return nullptr;
    const auto found = run_.snapshot.files.find(run_.graph[*state.planned->files].spec->name);
    if (found == run_.snapshot.files.end() || number >= found->second.files.size()) return nullptr;
    return &found->second.files[number];
  }

  /// Returns the bytes of partition outputs per byte that was read for them so far; 0: none exist.
  double GrowthOf(Stage& stage) const {
    if (stage.growth) return *stage.growth;
    std::uint64_t in = 0, out = 0;
    for (std::size_t at = 0; at < stage.state.inputs.size(); ++at) {
      const OutputsOfInput& outputs = stage.state.inputs[at].outputs;
      const SourceFile* const file = FileOf(stage.state, static_cast<std::uint32_t>(at));
      if (file != nullptr && !outputs.complete()) continue;
      if (file != nullptr) in += file->size;
      for (const auto& [partition, existing] : outputs.existing) {
        out += BytesOf(existing.output.committed.objects);
        if (stage.state.upstream == nullptr) continue;
        const auto& made = stage.state.upstream->inputs[at].outputs.existing;
        if (const auto found = made.find(partition); found != made.end())
          in += BytesOf(found->second.output.committed.objects);
      }
    }
    stage.growth = in == 0 ? 0 : static_cast<double>(out) / static_cast<double>(in);
    return *stage.growth;
  }

  const RunState& run_;
  std::map<std::string_view, Stage> stages_;
};

}  // namespace

void FindNeeds(const RunState& run, std::vector<OfferedUnit>& units) {
  NeedsFinder finder(run);
  for (OfferedUnit& unit : units) unit.needs = finder.Of(unit.unit);
}

StageNeeds NeedsOfStages(const RunState& run) {
  StageNeeds needs;
  const auto starts_programs = [&run](NodeId node) {
    return run.graph[node].spec->type->reader() != nullptr;
  };
  for (const std::unique_ptr<SegmentState>& state : run.prepared.states) {
    const PlannedSegment& planned = *state->planned;
    if (!state->active() || !planned.copy_from.empty()) continue;
    if (planned.job) {
      needs.jobs = true;
      continue;
    }
    needs.programs |= std::any_of(planned.chain.begin(), planned.chain.end(), starts_programs);
    needs.memory = std::max(needs.memory, LeastMemory(run.graph, state->scope));
  }
  return needs;
}

}  // namespace pipeline
