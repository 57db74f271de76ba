// What the stages before hand to the trainer, held against the job before anything starts: CONTRACT.md,
// section 2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/train_job.h"

namespace pipeline {

struct HandOff {
  std::uint64_t train_rows = 0;
  std::uint64_t train_targets = 0;
  std::uint64_t validation_rows = 0;
  std::uint64_t rows_per_step = 0;  // 0: the trainer decides it
  std::int64_t seq_len = 0;
  std::int64_t vocab_size = 0;
  std::string tokenizer_digest;
  Json data_lineage;  // of the two manifests: recipe, content, facts, lineage
  Json tokenizer_lineage;

  /// One line for people.
  std::string Describe() const;
};

/// What is known of the stages at `data` and `tokenizer` before they have run: `makers` of plugins/ABI.md,
/// section 7. kInvalidArgument where the trainer cannot use what they will make.
Status CheckMakers(const Json& settings, const Json& makers);

/// Reads an object as a whole, of at most so many bytes.
using ReadWhole = std::function<Result<std::string>(const std::string& uri, std::uint64_t most)>;

/// kInvalidArgument where data, tokenizer and `config` do not belong together, kDataLoss for what is no
/// packed data.
Result<HandOff> CheckHandOff(const TrainJob& job, const ReadWhole& read);

/// CONTRACT.md, section 3.
Json JobFile(const TrainJob& job, const HandOff& hand_off);

}  // namespace pipeline
