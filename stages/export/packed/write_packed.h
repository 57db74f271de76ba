// The stage that publishes packed rows of token ids. On-disk format: stages/export/packed/packed.md.
#pragma once

#include "dag/pipeline_file/registry.h"
#include "stages/export/packed/target_weights.h"

namespace pipeline {

/// `weights` chooses the weights of the rows for a configuration. Null: the key `answers_after` does.
StageType WritePackedType(const ChooseWeights& weights = {});

}  // namespace pipeline
