// The stage that draws as many records as fit into so many bytes: stages/sample.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType SampleType();

}  // namespace pipeline
