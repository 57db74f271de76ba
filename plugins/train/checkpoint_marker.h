// The object that says that a checkpoint in a bucket is whole. Form and names: CONTRACT.md, section 10.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

/// Which checkpoint, below checkpoints/: "STEP/ID".
struct CheckpointName {
  std::int64_t step = 0;
  std::string id;  // 16 hexadecimal digits, of its content

  std::string Path() const;
  std::string Marker() const { return Path() + ".json"; }
  bool operator==(const CheckpointName&) const = default;
};

/// What the name of an object below checkpoints/ says.
struct CheckpointObject {
  CheckpointName checkpoint;
  std::string file;  // of it; empty: its marker
};
/// Absent for a name that is not ours.
std::optional<CheckpointObject> ParseCheckpointObject(std::string_view name);

/// Names that a checkpoint is kept under, however many are newer; one checkpoint of each.
inline constexpr std::string_view kBest = "best";
inline constexpr std::string_view kBeforeDecay = "before_decay";
inline constexpr std::string_view kPins[] = {kBest, kBeforeDecay};

struct CheckpointMarker {
  std::int64_t step = 0;
  std::vector<FileFacts> files;     // by name
  Json best;                        // the best evaluation of the run until then; null: there was none
  std::vector<std::string> pinned;  // of kPins: under these names it is never removed

  /// By the names, lengths and checksums of the files.
  CheckpointName Name() const;
  Json ToJson() const;
  std::string Encode() const { return ToJson().DumpPretty(); }
};
/// Those of `pinned` in a marker, or in the digests beside a checkpoint on this machine; kDataLoss, naming
/// `where`, for what is no list of names that we know.
Result<std::vector<std::string>> ParsePins(const Json& json, std::string_view where);

/// Of the digests beside a checkpoint on this machine, CONTRACT.md, section 11: whether it was never
/// finished.
bool IsUnfinished(const Json& digests);

/// kDataLoss, naming `where`, for what is no marker of a version that we know.
Result<CheckpointMarker> ParseCheckpointMarker(std::string_view text, std::string_view where);
Result<CheckpointMarker> ReadCheckpointMarker(const Json& json, std::string_view where);

}  // namespace pipeline
