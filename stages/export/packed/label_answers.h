// The keys of `write_packed` for labels, and the ids of their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/config.h"
#include "dag/records/schema.h"
#include "dag/records/transform.h"
#include "stages/export/packed/labelled_documents.h"

namespace pipeline {

/// The keys `labels`, `labels_file` and `on_unknown_label`.
std::vector<ConfigKey> PackedLabelKeys();

/// Checks them against the incoming records, as much as possible without reading the file. The caller checks
/// what they need of the other keys.
Status CheckPackedLabelKeys(const Json& config, const Schema& schema);

/// Whether the labels of a configuration are numbers.
bool HasNumberLabels(const Json& config);

/// The names of the labels of a configuration; empty: none, or numbers. Reads the file. kInvalidArgument:
/// there is one.
Result<std::vector<std::string>> PackedLabelNames(const Json& config);

/// The labels of a configuration. Immutable; any thread may use it. For SinkStage::encoder: its workers
/// refuse records with another label, or set them aside. It outlives them.
class RecordLabels : public Transform {
 public:
  Result<std::unique_ptr<Worker>> NewWorker() const final;
  /// What Worker::Apply does.
  virtual Status Keep(Batch& batch, std::uint32_t stage, StageCounts& counts) const = 0;
  /// By number; empty: they are numbers.
  virtual std::vector<PackedLabel> named() const = 0;
  /// Ids of the longest.
  virtual std::size_t longest() const = 0;
  /// The label of a record that a worker kept.
  virtual Result<LabelAnswer> Answer(std::string_view label) const = 0;
};

/// Null: no labels. Reads the file of names and the model of the tokenizer. kInvalidArgument: they cannot be
/// told apart, the tokenizer lacks a character of numbers, or `rules` leave no room for them.
Result<std::shared_ptr<const RecordLabels>> ChooseLabels(const StageContext& context,
                                                         const TokenizerFacts& facts, const RowRules& rules);

}  // namespace pipeline
