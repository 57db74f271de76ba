#include "dag/plan/partition_outputs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dag/books/unit_id.h"
#include "dag/keys.h"
#include "dag/plan/partition_counts.h"

namespace pipeline {

namespace {

/// Returns the partition of `unit`. Absent: it is a unit of another kind.
std::optional<PartitionId> PartitionOf(std::string_view unit, std::string_view stage) {
  return ParsePartitionName(unit.substr(stage.size() + 1));
}

}  // namespace

std::optional<std::uint32_t> OutputsOfInput::last_missing() const {
  if (!end) return std::nullopt;
  for (std::uint32_t partition = end->partitions; partition > 0; --partition)
    if (!existing.contains(partition - 1)) return partition - 1;
  return std::nullopt;
}

bool OutputsOfInput::BeginsUnit(std::uint32_t partition) const {
  const auto is_joined = [this](std::uint32_t at) { return at < joined.size() && joined[at]; };
  for (std::uint32_t before = partition; is_joined(before); --before)
    if (!existing.contains(before - 1)) return false;
  std::uint32_t behind = partition + 1;
  while (is_joined(behind)) ++behind;
  return cuts->end || behind < joined.size() || joined.empty();
}

std::uint32_t OutputsOfInput::LastOfUnit(std::uint32_t partition) const {
  std::uint32_t last = partition;
  for (std::uint32_t at = partition + 1; at < std::min(joined.size(), cuts->ends.size()) && joined[at]; ++at)
    if (!existing.contains(at)) last = at;
  return last;
}

const UnitLine* FindEnd(const RunLog& log, const OutputKeys& keys, std::uint32_t input) {
  for (const std::string& stage : keys.end_stages) {
    const UnitLine* line = log.FindDone(ToString(UnitId{stage, StreamId{input}}));
    if (line != nullptr && line->recipe == keys.end_recipes[input]) return line;
  }
  return nullptr;
}

std::shared_ptr<const InputCuts> FindCuts(const RunLog& log, const OutputKeys& keys, std::uint32_t input) {
  for (const std::string& stage : keys.end_stages) {
    const UnitLine* line = log.FindCuts(ToString(UnitId{stage, StreamId{input}}));
    if (line == nullptr || line->recipe != keys.end_recipes[input]) continue;
    if (line->HasFirstCuts()) return std::make_shared<const InputCuts>(InputCuts{line->cuts, line->note, {}});
    if (line->cuts.size() != line->partitions) continue;
    InputEnd end{line->partitions, line->raw_bytes, line->documents, {}};
    // It has only the counts of the stage that cuts partitions, whatever its name was.
    for (const auto& [its_name, counts] : line->counts) end.outside += counts;
    return std::make_shared<const InputCuts>(InputCuts{line->cuts, line->note, std::move(end)});
  }
  return nullptr;
}

bool PartitionOutputs::complete() const {
  return !inputs_.empty() && std::all_of(inputs_.begin(), inputs_.end(),
                                         [](const OutputsOfInput& input) { return input.complete(); });
}

std::vector<PartitionOutput> PartitionOutputs::all() const {
  std::vector<PartitionOutput> outputs;
  for (const OutputsOfInput& input : inputs_)
    for (const auto& [partition, existing] : input.existing) outputs.push_back(existing.output);
  return outputs;
}

Result<PartitionOutputs> PartitionOutputs::Load(const RunLog& log, const OutputKeys& keys, Store& directory) {
  // One listing replaces a look at each of up to 100,000 objects. The listing and the log are both sorted by
  // name, so that the wanted object is mostly the next one.
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> listed, directory.List(""));
  auto next = listed.begin();
  const auto lies_there = [&](const StoredObject& object) {
    if (next == listed.end() || next->name != object.name)
      next = std::lower_bound(
          listed.begin(), listed.end(), object.name,
          [](const ObjectInfo& there, const std::string& name) { return there.name < name; });
    if (next == listed.end() || next->name != object.name) return false;
    return object.IsAt(*next++);
  };

  PartitionOutputs outputs;
  outputs.inputs_.resize(keys.end_recipes.size());
  for (std::uint32_t number = 0; number < keys.end_recipes.size(); ++number) {
    if (const UnitLine* line = FindEnd(log, keys, number))
      outputs.inputs_[number].end = InputEnd{line->partitions, line->raw_bytes, line->documents, {}};
    outputs.inputs_[number].cuts = FindCuts(log, keys, number);
  }
  for (const UnitLine* last : log.List(keys.stage + "/")) {
    const std::optional<PartitionId> id = PartitionOf(last->unit, keys.stage);
    const UnitLine* line = last->state == UnitState::kDone || !id ? last : log.FindDone(last->unit);
    if (!id || line == nullptr || id->input >= outputs.inputs_.size() ||
        line->recipe != PartitionRecipe(keys.recipe, *id))
      continue;
    if (!std::all_of(line->objects.begin(), line->objects.end(), lies_there)) {
      ++outputs.missing_objects_;
      continue;
    }
    std::map<std::uint32_t, OutputsOfInput::Existing>& existing = outputs.inputs_[id->input].existing;
    existing.emplace_hint(existing.end(), id->partition,
                          OutputsOfInput::Existing{
                              PartitionOutput{*id, {line->digest, line->objects}, line->splits}, line->end});
  }
  outputs.all_lie_there_ = outputs.complete();
  outputs.DropUncounted(log, keys);
  return outputs;
}

void PartitionOutputs::DropUncounted(const RunLog& log, const OutputKeys& keys) {
  PartitionCounts counts(log);
  for (OutputsOfInput& input : inputs_)
    std::erase_if(input.existing, [&](const auto& existing) {
      std::string unit = counts.Lost(keys, existing.second.output.id);
      if (unit.empty()) return false;
      lost_.push_back(std::move(unit));
      return true;
    });
  const auto any = std::find_if(inputs_.begin(), inputs_.end(),
                                [](const OutputsOfInput& input) { return !input.existing.empty(); });
  if (any == inputs_.end()) return;
  std::vector<std::string> lost;
  for (const OutputKeys& barriers : keys.barriers) {
    std::vector<std::string> of_this = counts.AddAll(barriers, nullptr);
    std::move(of_this.begin(), of_this.end(), std::back_inserter(lost));
  }
  if (lost.empty()) return;
  // One missing partition output is enough: its segment then demands the barrier stage, which takes in
  // everything that it lacks.
  any->existing.erase(std::prev(any->existing.end()));
  std::move(lost.begin(), lost.end(), std::back_inserter(lost_));
}

}  // namespace pipeline
