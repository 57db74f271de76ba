// The stage `mix`: several corpora in given proportions. Rules: stages/mix.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Takes the records of other stages at its port `corpora` and gives them as one input.
StageType MixType();

}  // namespace pipeline
