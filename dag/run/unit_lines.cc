#include "dag/run/unit_lines.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/str.h"
#include "dag/books/unit_id.h"
#include "dag/keys.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "dag/run/publisher.h"

namespace pipeline {

Status CheckDeclared(const SegmentScope& scope, std::size_t stage, const StageCounts& counts) {
  const StageType* const type = scope.assembly.types[stage];
  if (!scope.environment->declared_reasons_only || type == nullptr) return {};
  const std::string_view reason = UndeclaredReason(type->reasons, counts);
  if (reason.empty()) return {};
  return Status(Code::kInternal, StrCat("a stage of type ", type->name, " counted '", reason,
                                        "', which is not among the reasons of its type [this is a bug]"));
}

std::string NumberOf(PartitionId id, std::uint64_t index) {
  return StrCat("record ", index, " of partition ", id.partition, " (from 0)");
}

std::string PlaceOf(const SegmentScope& scope, const SourceFile& file, PartitionId id, std::uint64_t index,
                    const std::stop_token& stop) {
  const SourceStage& source = *scope.assembly.source;
  if (const Result<std::shared_ptr<ByteFile>> opened = scope.environment->open_file(file.input.path, stop);
      opened.ok())
    if (const auto line = source.LineOf({file.input.name, *opened}, id, index, stop))
      return StrCat("line ", *line);
  const std::vector<FaultBound> bounds = source.bounds();
  const auto row = std::find_if(bounds.begin(), bounds.end(), [](const FaultBound& at) { return at.is_row; });
  if (row == bounds.end()) return NumberOf(id, index);
  std::uint64_t before = 0;  // rows before the partition
  if (id.partition > 0)
    if (const UnitLine* line = scope.environment->log->FindDone(
            ToString(UnitId{scope.planned->keys.stage, PartitionId{id.input, id.partition - 1}})))
      before = line->end.document_end;
  return StrCat(row->noun, " ", before + index, " (from 0)");
}

Status LogFailure(const SegmentScope& scope, const UnitEvents& events, const std::string& unit,
                  PartitionId id, const Status& why, std::uint64_t index) {
  UnitLine line;
  line.state = UnitState::kFailed;
  line.unit = unit;
  line.segment = scope.log_segment;
  line.reason = std::string(why.message());
  line.origin = StrCat(PartitionName(id), ":", index);
  RETURN_IF_ERROR(scope.environment->log->Append(line));
  if (events.failed(id, why)) return {};
  return Status(Code::kCancelled, "stopped after a failure");
}

Result<UnitLine> EndLine(const SegmentScope& scope, std::uint32_t input, const InputEnd& end) {
  RETURN_IF_ERROR(CheckDeclared(scope, 0, end.outside));
  UnitLine line;
  line.state = UnitState::kEnd;
  line.unit = ToString(UnitId{scope.planned->keys.stage, StreamId{input}});
  line.segment = scope.log_segment;
  line.recipe = scope.planned->keys.end_recipes[input];
  line.partitions = end.partitions;
  line.raw_bytes = end.raw_bytes;
  line.documents = end.documents;
  line.counts.emplace(scope.assembly.stages.front(), end.outside);
  return line;
}

Result<UnitLine> CutsLine(const SegmentScope& scope, std::uint32_t input, const InputCuts& cuts) {
  ASSIGN_OR_RETURN(UnitLine line, EndLine(scope, input, cuts.end.value_or(InputEnd())));
  line.state = UnitState::kCuts;
  if (!cuts.end) line.counts.clear();
  line.cuts = cuts.ends;
  line.note = cuts.note;
  return line;
}

Status ForgetFailure(RunLog& log, const std::string& unit) {
  const UnitLine* last = log.Find(unit);
  if (last == nullptr || last->state != UnitState::kFailed) return {};
  UnitLine line;
  line.state = UnitState::kVoid;
  line.unit = unit;
  line.reason = "read since";
  if (const UnitLine* end = log.FindDone(unit)) line = *end;
  return log.Append(line);
}

Result<bool> ReuseOutput(const UnitContext& unit, PartitionId id, const Digest& content) {
  const SegmentScope& scope = unit.scope;
  RunLog& log = *scope.environment->log;
  const UnitLine* known = log.FindDone(ToString(UnitId{scope.planned->keys.stage, id}));
  if (known == nullptr || scope.planned->forced || known->content != content || known->location.empty())
    return false;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> from, OpenOutputs(*scope.environment, known->location));
  for (const StoredObject& object : known->objects) {
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> there, from->Stat(object.name));
    if (!there || !object.IsAt(*there)) return false;
  }
  for (const StoredObject& object : known->objects)
    RETURN_IF_ERROR(CopyObject(*from, *scope.directory, object, unit.stop));
  UnitLine line = *known;
  PartitionCounts(log).Rename(scope.planned->lineage, line);
  line.segment = scope.log_segment;
  line.recipe = PartitionRecipe(scope.planned->keys.recipe, id);
  line.location = scope.planned->directory;
  RETURN_IF_ERROR(log.Append(line));
  unit.events.logged({PartitionOutput{id, {line.digest, line.objects}, line.splits}, line.end});
  return true;
}

}  // namespace pipeline
