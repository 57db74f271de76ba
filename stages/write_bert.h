// The stage that publishes masked examples for google-research/bert. What lies on disk: formats/bert.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType WriteBertType();

}  // namespace pipeline
