// The stage `mix`: several corpora in given proportions. Rules: stages/lines/mix.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Reads the records of other stages through its named input `corpora` and gives them as one input.
StageType MixType();

}  // namespace pipeline
