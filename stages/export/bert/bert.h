// Data for run_pretraining.py of google-research/bert: examples with seven features of fixed lengths, and
// bert_config.json; bert.json says how the examples were made. Format: stages/export/bert/bert.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

inline constexpr std::string_view kBertConfigFile = "bert_config.json";
inline constexpr std::string_view kBertInfoFile = "bert.json";

/// Features of an example: its ids, and for each id whether it is content (1) or padding (0).
inline constexpr std::string_view kBertIds = "input_ids";
inline constexpr std::string_view kBertMask = "input_mask";

/// Lengths of the features: max_seq_length and max_predictions_per_seq of the trainer.
struct BertLengths {
  std::uint32_t seq_len = 0;
  std::uint32_t predictions = 0;
};

/// One example without padding. The caller owns the memory.
struct BertInstance {
  std::span<const std::uint32_t> ids;        // with [CLS], [SEP] and [MASK]; at most seq_len
  std::uint32_t first_segment = 0;           // number of ids in segment 0, which comes first
  std::span<const std::uint32_t> positions;  // positions to predict, ascending; at most `predictions`
  std::span<const std::uint32_t> labels;     // ids at these positions before masking
  bool random_next = false;
};

/// Appends the example as a tf.train.Example in a TFRecord frame.
void AppendBertExample(std::string& out, const BertInstance& instance, const BertLengths& lengths);

/// A parsed example.
struct BertRow {
  std::vector<std::uint32_t> ids, positions, labels;
  std::uint32_t first_segment = 0;
  bool random_next = false;
  BertInstance instance() const { return {ids, first_segment, positions, labels, random_next}; }
};

/// kDataLoss gives the reason: AppendBertExample does not write such an example with these lengths.
Result<BertRow> ParseBertExample(std::string_view example, const BertLengths& lengths);

/// "train-00003-of-00008.tfrecord": the trainer's glob matches the end of the name.
std::string BertShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards);

/// tiny, mini, small, medium, base, large.
std::vector<std::string_view> BertModelSizes();
/// Returns the bytes of bert_config.json for one of these sizes.
std::string BertConfigJson(std::string_view size, std::uint64_t vocab_size, std::uint64_t seq_len);

/// Prefix of the reason with which write_bert counts the instances of a split.
inline constexpr std::string_view kBertInstancesOf = "instances_of_";

struct BertInfo {
  BertLengths lengths;
  TokenizerFacts tokenizer;  // its model is kBertVocabularyFile
};

/// Formats the file. `made`: how the instances were made, for people.
std::string BertInfoJson(const BertInfo& info, const Json& made);
/// kDataLoss names the missing or wrong member.
Result<BertInfo> ParseBertInfo(std::string_view json);

/// OK if BERT can use the tokenizer; kFailedPrecondition tells what is missing.
Status CheckBertTokenizer(const TokenizerFacts& facts);

}  // namespace pipeline
