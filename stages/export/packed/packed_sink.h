// The Sink that makes packed rows of the records of a partition.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dag/records/sink.h"
#include "stages/export/packed/label_answers.h"
#include "stages/export/packed/packed_info.h"
#include "stages/export/packed/row_packer.h"

namespace pipeline {

// Counts of the stage.
inline constexpr std::string_view kRowIds = "row_ids";
inline constexpr std::string_view kFillIds = "fill_ids";
inline constexpr std::string_view kScoredOf = "scored_of_";  // before the name of a split
inline constexpr std::string_view kUnscoredDocuments = "unscored_documents";
inline constexpr std::string_view kCutDocuments = "cut_documents";
inline constexpr std::string_view kEmptyDocuments = "empty_documents";

/// The rules of rows and of their encoding.
struct PackedRules {
  RowRules rows;
  PackedInfo info;  // what rows have in common, without splits and labels: each partition has a copy
  WeightRule weights;
  std::shared_ptr<const RecordLabels> labels;  // null: documents have none
};

/// Makes rows, or documents, in a stream for each of `splits`, and gives them to `rows` as records, with
/// their index entries in front. The rows of a split have numbers from 0; the shuffle uses them as origins.
std::unique_ptr<Sink> NewPackedSink(std::unique_ptr<Sink> rows, const PackedRules& rules,
                                    const std::vector<std::string>& splits);

}  // namespace pipeline
