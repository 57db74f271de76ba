#include "cli/report/stage_status.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/enumeration.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "dag/books/lineage.h"
#include "dag/books/unit_id.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/reading_rules.h"

namespace pipeline {

namespace {

/// One input of a stage.
struct InputStatus {
  std::map<std::uint32_t, std::uint64_t> done;  // records by partition
  std::optional<std::uint32_t> all;             // partitions; absent: it was not read to its end
};
using InputsOfStage = std::map<std::uint32_t, InputStatus>;

void Take(const UnitLine& line, const UnitId& unit, InputsOfStage& inputs, StageStatus& status) {
  status.logged = true;
  if (line.state == UnitState::kFailed) status.failures.emplace(line.unit, line.reason);
  if (const auto* const stream = std::get_if<StreamId>(&unit.part)) {
    InputStatus& input = inputs[stream->input];
    if (line.state == UnitState::kEnd) input.all = line.partitions;
  }
  if (line.state != UnitState::kDone) return;
  status.segment = std::max(status.segment, line.segment);
  if (const auto* const partition = std::get_if<PartitionId>(&unit.part)) {
    inputs[partition->input].done.emplace(partition->partition, line.records);
  } else if (std::holds_alternative<ShardId>(unit.part)) {
    ++status.shards;
    status.location = line.location;
  } else if (std::holds_alternative<JobId>(unit.part)) {
    status.job_done = true;
    status.location = line.location;
  }
}

/// Absent: the log has none that can be read.
std::optional<Lineage> LineageOf(const RunLog& log, std::uint32_t segment) {
  const SegmentLine* const line = log.FindSegment(segment);
  const Result<Json> json = line == nullptr ? Result<Json>(Json()) : Json::Parse(line->lineage);
  Result<Lineage> lineage = json.ok() ? LineageFromJson(*json) : Result<Lineage>(json.status());
  return line != nullptr && lineage.ok() ? std::optional(std::move(*lineage)) : std::nullopt;
}

/// Counts the partitions input by input: one input may have been read to its end while another one goes on,
/// so a sum of all partitions that are done compares with no sum of ends.
void Count(const RunLog& log, const std::string& stage, const InputsOfStage& inputs, StageStatus& status) {
  const std::optional<Lineage> lineage = LineageOf(log, status.segment);
  const std::size_t files = lineage && !lineage->empty() ? lineage->front().sources.size() : 0;
  for (const auto& [number, input] : inputs) {
    if (files > 0 && number >= files) break;  // of an earlier run, which had more files
    std::uint64_t done = 0;
    for (const auto& [partition, records] : input.done) {
      if (input.all && partition >= *input.all) break;  // of an earlier state of the input, which was longer
      ++done;
      status.records += records;
    }
    status.partitions += done;
    if (input.all) {
      ++status.inputs;
      status.partitions_of += *input.all;
      continue;
    }
    const UnitLine* const cuts = log.FindCuts(ToString(UnitId{stage, StreamId{number}}));
    const std::uint64_t known =
        cuts == nullptr ? 0 : std::max<std::uint64_t>(cuts->partitions, cuts->cuts.size());
    status.partitions_of += std::max(known, done);
    status.more_to_come |= cuts == nullptr || cuts->HasFirstCuts() || known < done;
  }
}

std::string KeyText(const Json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? std::string(value.AsString()) : value.Dump();
}

void AddDifference(std::string_view what, std::string_view done, std::string_view asked, bool named,
                   StageStatus& status) {
  const auto add = [](std::string& text, std::string_view words) {
    text += StrCat(text.empty() ? "" : ", ", words);
  };
  add(status.with, StrCat(what, " ", done));
  add(status.asks, named ? StrCat(what, " ", asked) : std::string(asked));
}

/// Adds the keys of a stage whose values in finished work differ from those that the file asks for now.
/// `named_stage`: empty, or "STAGE." in front of the keys of an earlier stage.
void CompareKeys(const LineageStage& done, const StageSpec& spec, std::string_view named_stage,
                 StageStatus& status) {
  if (done.type != spec.type->name) return;
  Json asked = CanonicalConfig(spec.type->keys, spec.config), made = done.config;
  // Rules 1 of reading are in no recipe. Where the file names no rules, a plan takes those of finished work.
  if (!made.Has(kRulesKey)) made[kRulesKey] = kFirstRules;
  asked[kRulesKey] = spec.config.Has(kRulesKey) ? spec.config[kRulesKey] : made[kRulesKey];
  std::vector<std::string_view> keys;
  for (const ConfigKey& key : spec.type->keys)
    if (made[key.name] != asked[key.name]) keys.push_back(key.name);
  for (const std::string_view key : keys)
    AddDifference(StrCat(named_stage, key), KeyText(made[key]), KeyText(asked[key]),
                  keys.size() > 1 || !named_stage.empty(), status);
}

/// Compares the work of a stage that is done with what the file asks for now: its own keys, or else those of
/// the stages before it, or else its place.
void CompareWithFile(const RunLog& log, const PipelineSpec& file, const StageSpec& spec,
                     StageStatus& status) {
  const std::optional<Lineage> lineage = LineageOf(log, status.segment);
  if (!lineage || (!status.job_done && status.shards == 0 && status.partitions == 0)) return;
  for (const bool own : {true, false})
    for (const LineageStage& done : *lineage) {
      const auto asked = std::find_if(file.stages.begin(), file.stages.end(),
                                      [&done](const StageSpec& stage) { return stage.name == done.stage; });
      if (asked == file.stages.end() || (&*asked == &spec) != own || (!own && !status.with.empty())) continue;
      CompareKeys(done, *asked, own ? "" : StrCat(done.stage, "."), status);
    }
  const std::string place = LocationOfStage(spec);
  if (status.with.empty() && !status.location.empty() && !place.empty() && status.location != place)
    AddDifference("out", status.location, place, false, status);
}

}  // namespace

std::map<std::string, StageStatus> StagesIn(const RunLog& log, const PipelineSpec& spec) {
  std::map<std::string, StageStatus> stages;
  std::map<std::string, InputsOfStage> inputs;
  for (const UnitLine* line : log.List("")) {
    const std::optional<UnitId> unit = ParseUnitId(line->unit);
    if (!unit) continue;
    Take(*line, *unit, inputs[unit->stage], stages[unit->stage]);
    // The work of an earlier run is there, although the newest run failed.
    if (const UnitLine* const done = log.FindDone(line->unit); line->state == UnitState::kFailed && done)
      Take(*done, *unit, inputs[unit->stage], stages[unit->stage]);
  }
  for (const auto& [stage, some] : inputs) Count(log, stage, some, stages[stage]);
  for (const StageSpec& stage : spec.stages)
    if (const auto known = stages.find(stage.name); known != stages.end())
      CompareWithFile(log, spec, stage, known->second);
  return stages;
}

void AddState(const RunStatus& last, const RecordedStage& stage, StageStatus& status) {
  status.state = StateOf(*last.record, stage);
  if (!stage.segment.empty() && stage.segment != stage.name) status.passes_with = stage.segment;
  if (status.state == "done" || status.state == "copied" || status.state == "up to date")
    status.failures.clear();
}

Json ToJson(const StageStatus& status) {
  JsonWriter json;
  json.Written("partitions", status.partitions).Written("partitions_of", status.partitions_of);
  json.Written("inputs_ended", status.inputs).Written("shards", status.shards);
  json.Written("records", status.records).Loose("state", status.state);
  json.Loose("passes_with", status.passes_with).Loose("done", status.job_done);
  json.Loose("place", status.location).Loose("failures", status.failures);
  if (!status.with.empty()) json.Written("done_with", status.with).Written("asked", status.asks);
  return json.Finish();
}

std::string ToText(const StageStatus& status) {
  std::string text = status.state;
  const auto add = [&text](std::string_view more) { text += StrCat(text.empty() ? "" : ", ", more); };
  const std::string with =
      status.with.empty() ? std::string() : StrCat(" with ", status.with, "; this file asks ", status.asks);
  if (status.job_done && (status.failures.empty() || !with.empty())) {
    if (text != "done") add("done");
    text += StrCat(with, ", in ", status.location);
  } else if (status.partitions > 0 || status.inputs > 0 || status.shards > 0) {
    const bool knows_more =
        !status.more_to_come || status.inputs > 0 || status.partitions_of > status.partitions;
    add(knows_more ? StrCat(status.partitions, status.more_to_come ? " of at least " : " of ",
                            Counted(status.partitions_of, "partition"))
                   : Counted(status.partitions, "partition"));
    add(Counted(status.records, "record"));
    if (status.shards > 0)
      text += StrCat(", ", Counted(status.shards, "shard"), with, " in ", status.location);
  } else if (!status.passes_with.empty()) {
    add(StrCat("in one pass with '", status.passes_with, "'"));
  }
  if (text.empty()) text = status.logged ? "nothing done" : "not begun";
  for (const auto& [unit, reason] : status.failures) text += StrCat("\n  failed: ", WithUnit(reason, unit));
  return text;
}

}  // namespace pipeline
