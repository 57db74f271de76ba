// One planned segment while it is being carried out. Owned by the coordinator and touched under its
// lock, save for what is marked otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dag/publisher.h"
#include "dag/segment_unit.h"

namespace pipeline {

struct Track {
  enum class Phase : std::uint8_t {
    kPieces,      // partitions are being made
    kPlanning,    // one unit looks at the pieces and plans the shards
    kPublishing,  // shards are being written
    kFinishing,   // one unit judges, describes and commits the manifest
    kElsewhere,   // its Job was offered to another process
    kDone,
    kFailed,
  };

  const PlannedSegment* planned = nullptr;
  Track* origin = nullptr;      // whose partitions it reads; null: files, or none
  Track* gather = nullptr;      // whose pieces its Gather stage reads
  std::vector<Track*> makers;   // of the artifacts that it takes
  std::vector<Track*> readers;  // tracks that read its partitions
  Phase phase = Phase::kDone;

  // Immutable once units run.
  SegmentScope scope;
  std::unique_ptr<Store> out;  // null where it publishes nothing
  enum class Stages : std::uint8_t { kLacking, kBeingMade, kMade };
  Stages stages = Stages::kLacking;      // of scope.assembly: made once what they take is there
  std::optional<Digest> artifact_input;  // of a Job that reads an artifact: what it holds

  // First pass.
  struct Input {
    InputPieces pieces;
    bool running = false;             // its stream unit
    bool given_up = false;            // its stream unit failed; not tried again in this run
    std::deque<std::uint32_t> ready;  // partitions of the origin that can be read now
    std::set<std::uint32_t> begun;    // partitions whose unit was started
  };
  std::vector<Input> inputs;
  std::set<PartitionId> failed;  // partitions that failed in this run
  std::set<PartitionId> remade;  // partitions that were found damaged once already
  /// Logged in this run of an input that is still being read: its source may turn out changed.
  std::set<PartitionId> unsettled;
  std::set<PartitionId> voided;  // made of a source that turned out changed

  // Second pass.
  ArtifactSummary summary;               // of the pieces, judged
  std::shared_ptr<Publisher> publisher;  // shared by the units that run its groups
  std::size_t next_group = 0;
  std::size_t groups_done = 0;

  int running = 0;  // units

  const std::string& name() const { return planned->keys.stage; }
  bool active() const { return phase != Phase::kDone && phase != Phase::kFailed; }
  /// Goes on to the next phase; false where a damaged piece has sent the track back meanwhile.
  bool Advance(Phase from, Phase to) {
    if (phase != from) return false;
    phase = to;
    return true;
  }
  /// True when what it takes whole is there: it can be made ready, and a Job can run.
  bool has_artifacts() const {
    return std::all_of(makers.begin(), makers.end(), [](const Track* maker) { return maker->done(); });
  }
  /// True when all its pieces stand and were judged, so that who reads them as a whole may begin.
  bool done() const { return phase == Phase::kDone && (planned->publishes || pieces_complete()); }
  /// Its own pieces and those that they were made from: a summary counts the stages of both.
  bool pieces_complete() const {
    for (const Input& input : inputs)
      if (!input.pieces.complete()) return false;
    return origin == nullptr || origin->pieces_complete();
  }
  /// The partitions of input `number` that are unsettled, which they are no more.
  std::set<PartitionId> TakeUnsettled(std::uint32_t number) {
    const auto begin = unsettled.lower_bound({number, 0}), end = unsettled.lower_bound({number + 1, 0});
    std::set<PartitionId> taken(begin, end);
    unsettled.erase(begin, end);
    return taken;
  }
  bool stands(PartitionId id) const { return inputs[id.input].pieces.standing.contains(id.partition); }
  /// Partition `id` of the origin can be read.
  void Offer(PartitionId id) {
    Input& input = inputs[id.input];
    if (input.pieces.standing.contains(id.partition) || input.begun.contains(id.partition)) return;
    input.ready.push_back(id.partition);
  }
  /// The next piece of the origin that can be read and was not begun; absent when there is none now.
  std::optional<Piece> TakeReady() {
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      Input& input = inputs[at];
      while (!input.ready.empty()) {
        const std::uint32_t partition = input.ready.front();
        input.ready.pop_front();
        const auto& there = origin->inputs[at].pieces.standing;
        const auto found = there.find(partition);
        // Found damaged while it waited here: it is offered again, and read once.
        if (found == there.end() || !input.begun.insert(partition).second) continue;
        return found->second.piece;
      }
    }
    return std::nullopt;
  }
  /// Input `number` was read to its end, here or in the origin.
  void SetEnd(std::uint32_t number, const InputEnd& end) {
    inputs[number].pieces.end = end;
    for (Track* reader : readers) reader->SetEnd(number, end);
  }
  std::vector<Piece> all_pieces() const {
    std::vector<Piece> pieces;
    for (const Input& input : inputs)
      for (const auto& [partition, standing] : input.pieces.standing) pieces.push_back(standing.piece);
    return pieces;
  }
};

}  // namespace pipeline
