// Encodes records as the framed Examples of a TFDS data set. Format: stages/export/tfds/tfds.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "dag/records/transform.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

/// Rules for the Examples. A record gives one Example, or several if its line is split.
struct TfdsRecords {
  /// Names of the text features: one for the whole text, or one per field of the column `fields`, in order.
  std::vector<std::string> features;
  bool fields = false;              // the text has the fields of the column `fields`
  std::vector<std::string> labels;  // by number, from 0; empty: records have no label
  /// A label that is not in `labels` is the error kFailedPrecondition. False: the record is set aside
  /// (`dropped_unknown_label`).
  bool fail = true;
  /// Counts the tokens of a line. If null: lines are not split.
  std::shared_ptr<const SentencePieceEncoder> tokenizer;
  std::size_t max_tokens = 0;  // of a line, with its end mark; a longer line is split
};

/// Returns a Transform that fills the column `payload` with one framed Example per record: a shard is the
/// concatenation of payloads. If a line of a batch is split, all records of the batch keep only the columns
/// `text` and `split`.
std::unique_ptr<Transform> NewTfdsEncoder(TfdsRecords records);

}  // namespace pipeline
