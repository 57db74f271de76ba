// The first pass over one input, or over one partition of an artifact: a unit of work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/assembly.h"
#include "dag/environment.h"
#include "dag/place/publishing.h"
#include "dag/plan.h"
#include "dag/quarantine.h"
#include "dag/segment.h"

namespace pipeline {

/// A source is not any more what the run was planned for: what the run made of it has no known content.
struct SourceChanged final : StatusDetail {};

/// What all units of one segment share. Outlives them.
struct SegmentScope {
  const PlannedSegment* planned = nullptr;
  const Environment* environment = nullptr;
  const RunOptions* options = nullptr;
  Assembly assembly;
  /// planned->chain_lineage, and the last stage of planned->lineage, with what the artifacts at their ports
  /// hold in place of how those were made: for content keys.
  Lineage contents;
  LineageStage content_stage;
  /// Whether the place is held by this run: dag/place/lease.md. Empty: nobody else writes there, or this is a
  /// worker.
  std::function<Status(std::stop_token)> confirm;
  NameTests names;                     // of the stage that publishes
  std::unique_ptr<Store> directory;    // of its pieces
  std::unique_ptr<Store> work;         // the work directory, for quarantines
  std::vector<QuarantineStage> chain;  // the stages that count, as Assembly::stages
  std::uint32_t log_segment = 0;       // number of its `segment` line
  std::size_t tokens = 4;
  std::size_t closings = 2;
  std::uint64_t source_partition_bytes = 0;  // how much text one partition may hold

  /// How this run is known at the place of the segment's artifact.
  Publishing publishing() const;
};

/// What a unit tells while it runs; called from its closing thread.
struct UnitEvents {
  /// A partition was committed and logged.
  std::function<void(InputPieces::Standing)> logged;
  /// A partition failed and its failure was logged; false stops the unit.
  std::function<bool(PartitionId, const Status&)> failed;
  std::function<void(const InputEnd&)> ended;
};

/// Reads input `number` of the segment's files and makes every partition that does not stand yet.
/// Returns the failure of the input itself or kCancelled; single partitions fail through `events`.
Status RunStreamUnit(const SegmentScope& scope, Arena& arena, const SourceFile& file, std::uint32_t number,
                     const InputPieces& standing, const UnitEvents& events, std::stop_token stop);

/// The same over what the Gather stage at the front of the chain gives of `pieces`, which lie in
/// `pieces_directory`. A failure for which DamagedPiece has an answer says which of them is damaged.
Status RunGatherUnit(const SegmentScope& scope, Arena& arena, Store& pieces_directory,
                     std::vector<Piece> pieces, const InputPieces& standing, const UnitEvents& events,
                     std::stop_token stop);

/// Makes one partition from the partition `origin` that another segment left in `origin_directory`.
/// kDataLoss says that the origin is damaged: `origin_schema` is what it should hold.
Status RunPartitionUnit(const SegmentScope& scope, Arena& arena, Store& origin_directory, const Piece& origin,
                        const Schema& origin_schema, const UnitEvents& events, std::stop_token stop);

}  // namespace pipeline
