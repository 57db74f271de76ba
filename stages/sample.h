// The stage that draws records until a number of bytes is full: stages/sample.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType SampleType();

}  // namespace pipeline
