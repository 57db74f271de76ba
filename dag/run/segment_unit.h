// Runs one unit of the first pass: over one input, or over one upstream partition.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/books/quarantine.h"
#include "dag/environment.h"
#include "dag/location/publishing.h"
#include "dag/pipeline_file/source_file.h"
#include "dag/plan/plan.h"
#include "dag/run/assembly.h"
#include "dag/run/input_group.h"
#include "dag/run/segment.h"

namespace pipeline {

class InputBounds;

/// Failure detail: the source has changed since the run was planned, so the content of everything that the
/// run made from it is unknown.
struct SourceChanged final : StatusDetail {
  std::string silent{};  // the real path of a file whose size and times are as before; empty: they changed
};

/// Returns the failure with SourceChanged::silent: the file has other bytes from `begin` to `end`.
Status ChangedInSilence(const std::string& path, const std::string& real_path, std::uint64_t begin,
                        std::uint64_t end);

/// Data that all units of one segment share. It outlives them.
struct SegmentScope {
  const PlannedSegment* planned = nullptr;
  const Environment* environment = nullptr;
  const RunOptions* options = nullptr;
  Assembly assembly;
  /// For content keys: planned->chain_lineage, and the last stage of planned->lineage. Both have the
  /// content of the artifacts at named inputs in place of their recipes.
  Lineage contents;
  LineageStage content_stage;
  /// Checks that this run holds the location: dag/location/lease.md. Empty: no other run writes there, or
  /// this is a worker.
  std::function<Status(std::stop_token)> confirm;
  NameTests names;                     // of the publishing stage
  std::unique_ptr<Store> directory;    // of its partition outputs
  std::unique_ptr<Store> work;         // the work directory, for quarantines
  std::vector<QuarantineStage> chain;  // the stages that count, as Assembly::stages
  std::uint32_t log_segment = 0;       // number of its `segment` line; 0: it has none yet
  std::size_t tokens = 4;
  std::uint64_t text_bytes = 0;  // see SegmentSpec
  std::size_t waiting_partitions = 2;
  std::uint64_t decoder_memory = 0;          // bytes for the buffers of the Source of one unit
  std::uint64_t source_partition_bytes = 0;  // largest amount of text in one partition
  std::uint64_t input_memory =
      0;  // what the whole run keeps of its inputs, see MemoryOfInputs (dag/plan/plan.h)

  /// The names by which this run is known at the location of the segment's artifact.
  Publishing publishing() const;
};

/// Events of a running unit. Called from the thread that commits.
struct UnitEvents {
  /// A partition was committed and logged.
  std::function<void(OutputsOfInput::Existing)> logged;
  /// A partition failed and its failure was logged; false stops the unit.
  std::function<bool(PartitionId, const Status&)> failed;
  std::function<void(const InputEnd&)> ended;
};

/// The surroundings of a unit. `scope` and `arena` outlive it.
struct UnitContext {
  const SegmentScope& scope;
  Arena& arena;
  UnitEvents events;
  std::stop_token stop;
};

/// An opened input.
struct OpenInput {
  std::uint32_t number;
  const OutputsOfInput& made;
  Source& source;
  std::shared_ptr<RunningUnit> running;
  std::function<Status()>
      check_unchanged;               // of the file since it was opened, and of the bytes that were read
  InputBounds* bounds = nullptr;     // null: none are given
  InputGroup* group = nullptr;       // that it belongs to; null: none
  const SourceFile* file = nullptr;  // null: it is the output of a barrier stage
};

/// The part of a file that a unit reads.
struct FileUnit {
  std::string name;
  std::uint32_t number;
  const OutputsOfInput& made;
  InputGroup* group = nullptr;                      // see OpenInput
  std::function<void(SourceRequest&)> narrow = {};  // empty: it reads the whole file, whose bounds it checks
};

/// Opens the file and calls `read` with it, which calls check_unchanged once its reading has ended or failed.
Status ReadInput(const UnitContext& unit, const SourceFile& file, const FileUnit& part,
                 const std::function<Status(const OpenInput&)>& read);

/// Reads input `number` of the segment's files and makes every missing partition. Returns the failure of
/// the input itself, or kCancelled. Failures of single partitions go to the events.
Status RunStreamUnit(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                     const OutputsOfInput& made);

/// Makes the missing partitions from `id` to `last` of an input that `made` has the cuts of. The input gets
/// no end line.
Status RunCutUnit(const UnitContext& unit, const SourceFile& file, PartitionId id, std::uint32_t last,
                  const OutputsOfInput& made);

/// Does the same as RunStreamUnit on this thread alone, for a small input of `group`. `settled` is called
/// once with the outcome: before this returns, or when the group is flushed. `unit` stays valid until then.
void RunSmallInput(const UnitContext& unit, const SourceFile& file, std::uint32_t number,
                   const OutputsOfInput& made, InputGroup& group, const std::function<void(Status)>& settled);

/// Does the same as RunStreamUnit with the output of the barrier stage at the front of the chain, which reads
/// `outputs` in `outputs_directory`. If one of them is damaged: DamagedOutput(status) names it.
Status RunBarrierUnit(const UnitContext& unit, Store& outputs_directory, std::vector<PartitionOutput> outputs,
                      const OutputsOfInput& made);

/// Makes one partition from the partition `upstream` in `upstream_directory`, which should have the
/// columns `upstream_schema`. If `upstream` is damaged: DamagedOutput(status) names it.
Status RunPartitionUnit(const UnitContext& unit, Store& upstream_directory, const PartitionOutput& upstream,
                        const Schema& upstream_schema);

}  // namespace pipeline
