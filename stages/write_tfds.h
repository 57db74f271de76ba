// The stage that publishes a prepared TFDS data set. What lies on disk: formats/tfds.md.
#pragma once

#include "spec/registry.h"
#include "shards/sharded_output.h"

namespace pipeline {

StageType WriteTfdsType();

/// How the stage's payloads become shards, named and described as TFDS wants them.
ShardRules TfdsShardRules(const StageContext& context);

}  // namespace pipeline
