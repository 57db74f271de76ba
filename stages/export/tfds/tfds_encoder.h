// Encodes records as the framed Examples of a TFDS data set. Format: stages/export/tfds/tfds.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "dag/records/transform.h"
#include "text/sentencepiece_handle.h"

namespace pipeline {

struct TfdsRecords {
  /// One feature for the text, or one per field of the column `fields`.
  std::vector<std::string> features;
  bool fields = false;
  std::vector<std::string> labels;  // by number; empty: records have no label
  bool fail = true;                 // fail on a label without a number instead of setting the record aside
  /// Lines with more than `max_tokens` tokens are split; null: no limit.
  std::shared_ptr<const SentencePieceEncoder> tokenizer;
  std::size_t max_tokens = 0;
};

/// Fills the column `payload`, so that a shard is the concatenation of payloads. Records whose lines are
/// split keep only the columns `text` and `split`.
std::unique_ptr<Transform> NewTfdsEncoder(TfdsRecords records);

}  // namespace pipeline
