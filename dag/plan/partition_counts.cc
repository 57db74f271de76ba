#include "dag/plan/partition_counts.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "dag/books/unit_id.h"
#include "dag/keys.h"

namespace pipeline {

std::string PartitionCounts::Walk(const OutputKeys& keys, PartitionId id, ByStage* all) {
  for (std::size_t last = keys.line.size(); last > 0;) {
    --last;
    const bool is_own = last + 1 == keys.line.size();
    std::string unit = ToString(UnitId{is_own ? keys.stage : keys.line[last].stage, id});
    const UnitLine* const line = log_.FindDone(unit);
    if (line == nullptr || line->recipe != PartitionRecipe(is_own ? keys.recipe : keys.line[last].recipe, id))
      return unit;
    // The stages may have had other names. Their number and order are the same, because the recipe includes
    // them.
    const std::vector<std::string>& then = NamesIn(line->segment);
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= last; ++at) {
      const std::size_t from_end = last - at;
      names.push_back(from_end < then.size() ? then[then.size() - 1 - from_end] : keys.line[at].stage);
    }
    const std::size_t first = WholeFrom(keys, last, id, *line, names);
    if (first == keys.line.size()) return unit;
    for (std::size_t at = first; all != nullptr && at <= last; ++at)
      (*all)[keys.line[at].stage] += line->counts.find(names[at])->second;
    last = first;
  }
  return {};
}

std::size_t PartitionCounts::WholeFrom(const OutputKeys& keys, std::size_t last, PartitionId id,
                                       const UnitLine& line, const std::vector<std::string>& names) const {
  std::size_t first = last;
  if (!line.whole_from.empty()) {
    first = static_cast<std::size_t>(std::find(names.begin(), names.end(), line.whole_from) - names.begin());
  } else {
    // A line of an earlier version. The first stage that it counts may be the one whose partition file was
    // read: this is certain if another stage cut the partition, or if that file has a line of its own.
    while (first > 0 && line.counts.contains(names[first - 1])) --first;
    const UnitLine* const cut =
        last == 0 ? nullptr : log_.FindDone(ToString(UnitId{keys.line.front().stage, id}));
    if (first > 0 || (cut != nullptr && cut->recipe == PartitionRecipe(keys.line.front().recipe, id)))
      first = std::min(first + 1, last);
  }
  for (std::size_t at = first; at <= last; ++at)
    if (!line.counts.contains(names[at])) return keys.line.size();
  return std::min(first, keys.line.size());
}

const std::vector<std::string>& PartitionCounts::NamesIn(std::uint32_t segment) {
  const auto [known, is_new] = names_.try_emplace(segment);
  const SegmentLine* const line = is_new ? log_.FindSegment(segment) : nullptr;
  if (line == nullptr) return known->second;
  const Result<Json> json = Json::Parse(line->lineage);
  const Result<Lineage> lineage = json.ok() ? LineageFromJson(*json) : json.status();
  if (lineage.ok())
    for (const LineageStage& stage : *lineage) known->second.push_back(stage.stage);
  return known->second;
}

std::vector<std::string> PartitionCounts::AddAll(const OutputKeys& keys, ByStage* all, Documents* documents) {
  std::vector<std::string> lost = AddEnds(keys, all, documents);
  for (std::uint32_t input = 0; input < keys.end_recipes.size(); ++input) {
    const UnitLine* const end = FindEnd(log_, keys, input);
    for (std::uint32_t partition = 0; end != nullptr && partition < end->partitions; ++partition)
      if (std::string unit = Walk(keys, {input, partition}, all); !unit.empty())
        lost.push_back(std::move(unit));
  }
  return lost;
}

std::vector<std::string> PartitionCounts::AddEnds(const OutputKeys& keys, ByStage* all,
                                                  Documents* documents) const {
  std::vector<std::string> lost;
  for (std::uint32_t input = 0; input < keys.end_recipes.size(); ++input) {
    const UnitLine* const end = FindEnd(log_, keys, input);
    if (end == nullptr) lost.push_back(ToString(UnitId{keys.stage, StreamId{input}}));
    if (end == nullptr) continue;
    // An end line has only the counts of the stage that cuts partitions, whatever its name was.
    const std::string& cutter = keys.line.front().stage;
    if (documents != nullptr) (*documents)[cutter] += end->documents;
    if (all == nullptr) continue;
    for (const auto& [stage, counts] : end->counts) (*all)[cutter] += counts;
  }
  return lost;
}

void PartitionCounts::Rename(const Lineage& now, UnitLine& line) {
  const std::vector<std::string>& then = NamesIn(line.segment);
  std::map<std::string, std::string, std::less<>> renamed;
  for (std::size_t at = 0; at < then.size() && at < now.size(); ++at)
    renamed.emplace(then[then.size() - 1 - at], now[now.size() - 1 - at].stage);
  const auto name = [&renamed](const std::string& old) {
    const auto found = renamed.find(old);
    return found == renamed.end() ? old : found->second;
  };
  ByStage counts;
  for (auto& [stage, of_stage] : line.counts) counts.insert_or_assign(name(stage), std::move(of_stage));
  line.counts = std::move(counts);
  if (!line.whole_from.empty()) line.whole_from = name(line.whole_from);
}

}  // namespace pipeline
