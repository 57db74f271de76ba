// The stage that publishes packed rows of token ids. What lies on disk: formats/packed.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType WritePackedType();

}  // namespace pipeline
