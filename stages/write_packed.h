// The stage that publishes packed rows of token ids. On-disk format: formats/packed.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType WritePackedType();

}  // namespace pipeline
