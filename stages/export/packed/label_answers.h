// The keys of `write_packed` for labels, and the ids of their names.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/config.h"
#include "dag/records/schema.h"
#include "dag/records/transform.h"
#include "stages/export/packed/labelled_documents.h"
#include "stages/lines/label_numbers.h"

namespace pipeline {

/// The keys `labels`, `labels_file` and `on_unknown_label`.
std::vector<ConfigKey> PackedLabelKeys();

/// Checks them against the incoming records, as much as possible without reading the file. The caller checks
/// what they need of the other keys.
Status CheckPackedLabelKeys(const Json& config, const Schema& schema);

/// The names of the labels of a configuration; empty: none. Reads the file. kInvalidArgument: there is one.
Result<std::vector<std::string>> PackedLabelNames(const Json& config);

/// The labels of a configuration, with numbers for records.
struct RecordLabels {
  LabelAnswers answers;
  LabelNumbers numbers;
};

/// Null: no labels. Reads the file of names and the model of the tokenizer. kInvalidArgument: they cannot be
/// told apart, or `rules` leave no room for them.
Result<std::shared_ptr<const RecordLabels>> ChooseLabels(const StageContext& context,
                                                         const TokenizerFacts& facts, const RowRules& rules);

/// For SinkStage::encoder: refuses records with another label, or sets them aside. `numbers` outlives it.
std::unique_ptr<Transform> NewLabelCheck(const LabelNumbers& numbers);

}  // namespace pipeline
