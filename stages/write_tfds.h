// The stage that publishes a prepared TFDS data set. What lies on disk: formats/tfds.md.
#pragma once

#include <string>
#include <vector>

#include "shards/sharded_output.h"
#include "spec/registry.h"

namespace pipeline {

StageType WriteTfdsType();

/// What lies beside the shards, and is read before they are made.
struct TfdsBeside {
  std::vector<std::string> labels;  // by number; empty where records have none
  std::string tokenizer;            // the bytes of a model; empty where lines have any length
};

/// How the stage's payloads become shards, named and described as TFDS wants them.
ShardRules TfdsShardRules(const StageContext& context, const TfdsBeside& beside = {});

}  // namespace pipeline
