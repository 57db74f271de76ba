// The stage that publishes a prepared TFDS data set. On-disk format: stages/export/tfds/tfds.md.
#pragma once

#include <string>
#include <vector>

#include "dag/pipeline_file/registry.h"
#include "stages/shards/sharded_output.h"

namespace pipeline {

StageType WriteTfdsType();

/// The files beside the shards; they are read before the shards are made.
struct TfdsBeside {
  std::vector<std::string> labels;  // by number; empty: records have no label
  std::string tokenizer;            // the bytes of a model; empty: lines have no length limit
};

/// The rules that make shards from the stage's payloads, with the names and metadata of TFDS.
ShardRules TfdsShardRules(const StageContext& context, const TfdsBeside& beside = {});

}  // namespace pipeline
