// The stage that turns each line into the ids of a tokenizer. Rules: stages/encode.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType EncodeType();

}  // namespace pipeline
