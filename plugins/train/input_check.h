// Checks the trainer's inputs against the job before anything starts: CONTRACT.md, section 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/rows/row_facts.h"
#include "plugins/train/train_job.h"

namespace pipeline {

struct TrainInputs {
  std::uint64_t train_rows = 0;               // 0: the job has no rows
  std::uint64_t train_targets = 0;            // 0: pairs do not tell them
  std::optional<std::uint64_t> train_scored;  // absent: the loss counts each target
  std::uint64_t validation_rows = 0;
  std::uint64_t rows_per_step = 0;  // 0: an external trainer chooses it
  std::string epochs;               // for people: `epochs` of the job in steps; empty: it has none
  std::int64_t seq_len = 0;
  std::int64_t vocab_size = 0;
  std::string tokenizer_digest;
  Json data_lineage;       // from the two manifests: recipe, content, facts, lineage
  Json tokenizer_lineage;  // null, as the next two: no such input
  Json data_set_lineage;
  Json init_lineage;  // null: no model to begin with, or one that is no artifact

  /// One line for people.
  std::string Describe() const;
};

/// Sets `steps` of a job with `epochs`, and tells it in `inputs`.
void ResolveEpochs(TrainJob& job, TrainInputs& inputs);

/// Checks the facts of the stages at `data` and `tokenizer` before they run: `makers` of plugins/ABI.md,
/// section 7. kInvalidArgument if the trainer cannot use their output.
Status CheckMakers(const Json& settings, const Json& makers);

/// kInvalidArgument if data, tokenizer and `config` do not match; kDataLoss if what describes the data is
/// damaged.
Result<TrainInputs> CheckTrainInputs(const TrainJob& job, const ReadWhole& read);

/// The version of CONTRACT.md.
inline constexpr int kTrainerContract = 1;

/// The job file: CONTRACT.md, section 3.
Json JobFile(const TrainJob& job, const TrainInputs& inputs);

}  // namespace pipeline
