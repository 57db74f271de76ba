// A stage that takes its input as a whole and leaves an artifact.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"
#include "records/counts.h"
#include "records/source.h"
#include "records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// What a Job is given. Everything outlives the call of Run.
struct JobRequest {
  /// The records of the stage's input, all partitions in order, as one Source that is read once. May be
  /// called again; null for a stage whose input is not records. kDataLoss: a partition is damaged.
  std::function<Result<std::unique_ptr<Source>>()> open_records;
  ArtifactTotals input;  // of those records
  Store* out = nullptr;  // where the artifact lies: `out` of the stage, or the work directory
  std::string out_uri;   // its root as a person writes it, perhaps relative
  Digest recipe;         // of the stage; equal for another value of a key with Effect::kContinue
  std::function<Condition(const std::string& object)> condition;  // of each object it commits
  std::string scratch;             // path of an empty directory of its own, removed afterwards
  std::string kept;                // path of a directory that stays and that Jobs share; may not be made yet
  std::uint64_t memory_bytes = 0;  // what it said it would take is no more than this
  int threads = 1;
  std::function<void(std::uint64_t done, std::uint64_t of)>
      progress;                                         // as it counts itself; `of` 0 if unknown
  std::function<void(std::string_view line)> say = {};  // how it goes, in words; the next line replaces it
  std::stop_token stop;
};

struct JobOutput {
  std::vector<StoredObject> objects;  // committed, in the order of the manifest
  Json facts;                         // an object of a few values, kept in the manifest for readers
};

/// A step that wants whole artifacts: the same give the same objects. Has a thread of its own, which may
/// block; looks at its stop token at least twice a second.
class JobStage {
 public:
  virtual ~JobStage() = default;
  /// Bytes of memory that it takes for such an input. Asked first: what exceeds the limit is not begun.
  virtual Result<std::uint64_t> Memory(const ArtifactTotals& input) const = 0;
  virtual Result<JobOutput> Run(const JobRequest& request) const = 0;
};

}  // namespace pipeline
