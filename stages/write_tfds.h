// The stage that publishes a prepared TFDS data set. On-disk format: formats/tfds.md.
#pragma once

#include <string>
#include <vector>

#include "shards/sharded_output.h"
#include "spec/registry.h"

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
