// A stage that reads its input as a whole and leaves an artifact.
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
#include "dag/records/counts.h"
#include "dag/records/job_position.h"
#include "dag/records/source.h"
#include "dag/records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// Input of JobStage::Run. Everything in it outlives the call of Run.
struct JobRequest {
  /// Opens the records of the stage's input: all partitions in order, as one Source that can be read once.
  /// May be called again. Null: the input is not records. kDataLoss: a partition is damaged.
  std::function<Result<std::unique_ptr<Source>>()> open_records;
  ArtifactTotals input;  // of those records
  Store* out = nullptr;  // location of the artifact: `out` of the stage, or the work directory
  std::string out_uri;   // its root as a person writes it, perhaps relative
  Digest recipe;         // of the stage; keys with Effect::kContinue do not change it
  /// For each object that it commits. Empty, for a follower: the Job chooses the condition.
  std::function<Condition(const std::string& object)> condition;
  /// Makes sure that this run still holds `out`, for an object that is no part of the artifact. Empty: no
  /// other run writes there, or this is a worker or a follower.
  std::function<Status(std::stop_token)> confirm = {};
  /// Withdraws the finished artifact at `out` that this run replaces; may be called again. Empty: there is
  /// none, or the run has withdrawn it.
  std::function<Status()> withdraw = {};
  bool forced = false;  // `--force` names the stage
  JobPosition position = {};
  std::string scratch;             // path of an empty directory of its own, removed afterwards
  std::string kept;                // path of a permanent directory that Jobs share; may not exist yet
  std::uint64_t memory_bytes = 0;  // limit; Memory returned no more than this
  int threads = 1;
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  // in its own units; `of` 0: unknown
  std::function<void(std::string_view line)> say = {};  // status in words; the next line replaces it
  std::stop_token stop;
};

struct JobOutput {
  std::vector<StoredObject> objects;  // committed, in the order of the manifest
  Json facts;                         // an object of a few values for readers, in the manifest
};

/// A step over whole artifacts: the same artifacts give the same objects. Runs on a thread of its own,
/// which may block. Checks its stop token at least twice a second.
class JobStage {
 public:
  virtual ~JobStage() = default;
  /// Returns the bytes of memory that Run needs for this input. Called first: above the limit, Run is not
  /// called.
  virtual Result<std::uint64_t> Memory(const ArtifactTotals& input) const = 0;
  virtual Result<JobOutput> Run(const JobRequest& request) const = 0;
};

}  // namespace pipeline
