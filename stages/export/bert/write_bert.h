// The stage that publishes masked examples for google-research/bert. On-disk format:
// stages/export/bert/bert.md.
#pragma once

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType WriteBertType();

}  // namespace pipeline
