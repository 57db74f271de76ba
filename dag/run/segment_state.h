// The segment state: the knowledge of a run about one planned segment. The coordinator owns it. Its lock
// guards every member that has no other remark.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dag/run/publisher.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

struct SegmentState {
  enum class Phase : std::uint8_t {
    kPartitions,  // partitions are being made
    kPlanning,    // one unit reads the partition outputs and plans the shards
    kPublishing,  // shards are being written
    kFinishing,   // one unit checks, describes and commits the manifest
    kElsewhere,   // its Job was offered to another process
    kDone,
    kFailed,
  };

  const PlannedSegment* planned = nullptr;
  SegmentState* upstream = nullptr;    // it reads the partitions of this segment; null: none
  SegmentState* barrier = nullptr;     // its barrier stage reads these partition outputs; null: none
  std::vector<SegmentState*> makers;   // they make the artifacts that it reads
  std::vector<SegmentState*> readers;  // they read its partitions
  std::vector<SegmentState*> takers;   // unfinished segments that need it, also those that are not selected
  Phase phase = Phase::kDone;

  // Immutable once units run.
  SegmentScope scope;
  std::unique_ptr<Store> out;  // null: it publishes nothing
  enum class Stages : std::uint8_t { kLacking, kBeingMade, kMade };
  Stages stages = Stages::kLacking;      // of scope.assembly: made once all named inputs exist
  std::optional<Digest> artifact_input;  // Job that reads an artifact: digest of the artifact's content

  // First pass.
  struct Input {
    OutputsOfInput outputs;
    bool running = false;             // its stream unit runs
    bool given_up = false;            // its stream unit failed; not tried again in this run
    bool small = false;               // a file so small that it is read in a group
    bool cut = false;                 // each partition that its cuts name is a unit
    bool looked_at = false;           // cut: its bounds were checked, and its end was logged if all exist
    std::uint32_t next_cut = 0;       // cut: no unit has to be started for a partition before this one
    std::deque<std::uint32_t> ready;  // upstream partitions that can be read now
    std::set<std::uint32_t> begun;    // partitions whose unit was started

    /// Returns whether a unit that reads it to its end has nothing to do, or waits for a look at its bounds.
    bool is_left_to_cuts() const { return cut && (outputs.cuts->end || !looked_at); }
    bool waits() const { return !running && !given_up && !is_left_to_cuts() && !outputs.complete(); }
    bool gives_cuts() const { return cut && looked_at && !given_up; }
  };
  std::vector<Input> inputs;
  std::size_t first_waiting = 0;   // no stream unit has to be started for an input before this one
  std::size_t first_unlooked = 0;  // no cut input before this one has to be looked at
  std::size_t first_cut = 0;       // the same for the partitions of cut inputs
  std::size_t small_inputs = 0;    // number of small inputs that wait to be read
  std::size_t first_ready = 0;     // no input before this one has ready partitions
  std::set<PartitionId> failed;    // partitions that failed in this run
  std::set<PartitionId> remade;    // partitions that were found damaged once before
  /// Partitions that this run logged of an input that is still being read: its source may turn out changed.
  std::set<PartitionId> unsettled;
  /// Partitions of running units whose input was found void, and why. They become void when they are logged.
  std::map<PartitionId, std::string> voided;

  // Second pass.
  ArtifactSummary summary;               // of the partition outputs, checked
  bool checked = false;                  // they are complete and passed the checks, and it publishes them
  std::shared_ptr<Publisher> publisher;  // shared by the units that run its groups
  std::size_t next_group = 0;
  std::size_t groups_done = 0;

  int running = 0;  // units that run now

  // Its partition outputs, once nothing unfinished needs them.
  bool removing = false;  // a thread removes them: no unit begins
  bool removed = false;   // they are gone, except for those that were made again since
  bool restored = false;  // some were made again since

  const std::string& name() const { return planned->keys.stage; }
  bool active() const { return phase != Phase::kDone && phase != Phase::kFailed; }
  /// Enters the next phase. False: a damaged partition output has sent the segment back meanwhile.
  bool Advance(Phase from, Phase to) {
    if (phase != from) return false;
    phase = to;
    return true;
  }
  /// Returns whether all artifacts that it reads are complete: its stages can be made, and a Job can run.
  bool has_artifacts() const {
    return std::all_of(makers.begin(), makers.end(), [](const SegmentState* maker) { return maker->done(); });
  }
  /// Returns whether its output is complete and checked, so that readers of the whole may begin.
  bool done() const { return phase == Phase::kDone && (planned->publishes || outputs_complete()); }
  /// Returns whether its own partition outputs and those upstream are complete: a summary counts the stages
  /// of both.
  bool outputs_complete() const {
    for (const Input& input : inputs)
      if (!input.outputs.complete()) return false;
    return upstream == nullptr || upstream->outputs_complete();
  }
  /// Returns whether neither this run nor the next one reads anything of `made` for this segment, unless
  /// something is damaged.
  bool is_finished_with(const SegmentState& made) const {
    if (planned->state != PlannedSegment::State::kWanted) return false;
    if (phase == Phase::kDone) return true;
    // If one of its own outputs is found damaged after its first pass, a partition of `made` is made again
    // and must have the same bytes.
    return checked && !made.planned->varies;
  }
  /// Returns whether its partition outputs exist and can be removed.
  bool is_unneeded() const {
    if (!planned->removable || planned->state == PlannedSegment::State::kNotSelected) return false;
    if ((removed && !restored) || phase != Phase::kDone || running > 0) return false;
    return planned->publishes || std::all_of(takers.begin(), takers.end(), [this](const SegmentState* taker) {
             return taker->is_finished_with(*this);
           });
  }
  /// Returns the unsettled partitions of input `number`, and settles them.
  std::set<PartitionId> TakeUnsettled(std::uint32_t number) {
    const auto begin = unsettled.lower_bound({number, 0}), end = unsettled.lower_bound({number + 1, 0});
    std::set<PartitionId> taken(begin, end);
    unsettled.erase(begin, end);
    return taken;
  }
  bool exists(PartitionId id) const { return inputs[id.input].outputs.existing.contains(id.partition); }
  /// Notes that upstream partition `id` can be read.
  void Offer(PartitionId id) {
    Input& input = inputs[id.input];
    if (input.outputs.existing.contains(id.partition) || input.begun.contains(id.partition)) return;
    input.ready.push_back(id.partition);
    first_ready = std::min<std::size_t>(first_ready, id.input);
  }
  /// Notes that input `number` may have to be read, once more or at all.
  void LookAgainAt(std::uint32_t number) {
    first_waiting = std::min<std::size_t>(first_waiting, number);
    first_cut = std::min<std::size_t>(first_cut, number);
    inputs[number].next_cut = 0;
  }
  /// Takes the next cut input that was not looked at. Absent: there is none.
  std::optional<std::uint32_t> TakeUnlooked() {
    for (; first_unlooked < inputs.size(); ++first_unlooked)
      if (inputs[first_unlooked].cut && !inputs[first_unlooked].looked_at)
        return static_cast<std::uint32_t>(first_unlooked++);
    return std::nullopt;
  }
  /// Takes a missing partition of a cut input. False: it is no such partition, or its unit was started.
  bool TakeCut(PartitionId id) {
    if (id.input >= inputs.size()) return false;
    Input& input = inputs[id.input];
    return input.gives_cuts() && id.partition < input.outputs.cuts->ends.size() && !exists(id) &&
           input.begun.insert(id.partition).second;
  }
  /// Takes the next missing partition of a cut input, or the first one of a unit. Absent: there is none now.
  std::optional<PartitionId> TakeNextCut(bool units) {
    for (; first_cut < inputs.size(); ++first_cut) {
      Input& input = inputs[first_cut];
      if (!input.gives_cuts()) continue;
      while (input.next_cut < input.outputs.cuts->ends.size()) {
        const PartitionId id{static_cast<std::uint32_t>(first_cut), input.next_cut++};
        if (units && !exists(id) && !input.outputs.BeginsUnit(id.partition)) continue;
        if (TakeCut(id)) return id;
      }
    }
    return std::nullopt;
  }
  /// Takes an input that has to be read and is not. False: it is no such input.
  bool TakeInput(std::uint32_t number) {
    if (number >= inputs.size() || !inputs[number].waits()) return false;
    return inputs[number].running = true;
  }
  /// Takes the next input that has to be read and is not. Absent: there is none now. `small`: only if it is.
  std::optional<std::uint32_t> TakeWaiting(bool small) {
    for (; first_waiting < inputs.size(); ++first_waiting) {
      const Input& input = inputs[first_waiting];
      if (!input.waits()) continue;
      if (small && !input.small) return std::nullopt;
      const auto number = static_cast<std::uint32_t>(first_waiting++);
      TakeInput(number);
      return number;
    }
    return std::nullopt;
  }
  /// Returns upstream partition output `id`, if it can be read and was not begun.
  std::optional<PartitionOutput> TakeUpstream(PartitionId id) {
    if (id.input >= inputs.size() || exists(id)) return std::nullopt;
    const auto& there = upstream->inputs[id.input].outputs.existing;
    const auto found = there.find(id.partition);
    if (found == there.end() || !inputs[id.input].begun.insert(id.partition).second) return std::nullopt;
    return found->second.output;
  }
  /// Returns the next upstream partition output that can be read and was not begun. Absent: there is none
  /// now.
  std::optional<PartitionOutput> TakeReady() {
    for (std::size_t& at = first_ready; at < inputs.size(); ++at) {
      Input& input = inputs[at];
      while (!input.ready.empty()) {
        const PartitionId id{static_cast<std::uint32_t>(at), input.ready.front()};
        input.ready.pop_front();
        // Absent if it was found damaged while it waited here: it will be offered again, and read once.
        if (std::optional<PartitionOutput> output = TakeUpstream(id)) return output;
      }
    }
    return std::nullopt;
  }
  /// Notes that input `number` was read to its end, here or upstream.
  void SetEnd(std::uint32_t number, const InputEnd& end) {
    inputs[number].outputs.end = end;
    for (SegmentState* reader : readers) reader->SetEnd(number, end);
  }
  std::vector<PartitionId> all_ids() const {
    std::vector<PartitionId> ids;
    for (const PartitionOutput& output : all_outputs()) ids.push_back(output.id);
    return ids;
  }
  std::vector<PartitionOutput> all_outputs() const {
    std::vector<PartitionOutput> outputs;
    for (const Input& input : inputs)
      for (const auto& [partition, existing] : input.outputs.existing) outputs.push_back(existing.output);
    return outputs;
  }
};

}  // namespace pipeline
