// Records as the framed Examples of a TFDS data set. Format: formats/tfds.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "records/transform.h"
#include "text/sentencepiece_handle.h"

namespace pipeline {

struct TfdsRecords {
  /// One for the text, or one for each field of column `fields`.
  std::vector<std::string> features;
  bool fields = false;
  std::vector<std::string> labels;  // by number; empty where records have none
  bool fail = true;                 // on a label without a number, instead of setting the record aside
  /// Lines of more tokens are split; null where nobody counts.
  std::shared_ptr<const SentencePieceEncoder> tokenizer;
  std::size_t max_tokens = 0;
};

/// Fills column `payload`, so that a shard is payloads, back to back. Records whose lines are split have no
/// other columns afterwards than `text` and `split`.
std::unique_ptr<Transform> NewTfdsEncoder(TfdsRecords records);

}  // namespace pipeline
