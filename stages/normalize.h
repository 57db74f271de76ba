// The stage that changes text: a Unicode normal form, then white space. Rules: stages/normalize.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType NormalizeType();

}  // namespace pipeline
