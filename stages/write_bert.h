// The stage that publishes masked examples for google-research/bert. On-disk format: formats/bert.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType WriteBertType();

}  // namespace pipeline
