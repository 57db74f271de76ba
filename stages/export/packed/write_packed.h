// The stage that publishes packed rows of token ids. On-disk format: stages/export/packed/packed.md.
#pragma once

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType WritePackedType();

}  // namespace pipeline
