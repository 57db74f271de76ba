// TFDS data sets as an export format: the stage, the check and the row. On-disk format:
// stages/export/tfds/tfds.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stages/shards/sharded_stage.h"
#include "stages/verify/export_format.h"

namespace pipeline {

StageType WriteTfdsType();

/// The files beside the shards; they are read before the shards are made.
struct TfdsBeside {
  std::vector<std::string> labels;  // by number; empty: records have no label
  std::string tokenizer;            // the bytes of a model; empty: lines have no length limit
};

/// The rules that make shards from the stage's payloads, with the names and metadata of TFDS.
ShardRules TfdsShardRules(const StageContext& context, const TfdsBeside& beside = {});

ExportFormat TfdsExport();

}  // namespace pipeline
