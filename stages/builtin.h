// Every stage that this program has.
#pragma once

#include "dag/registry.h"

namespace pipeline {

Registry BuiltinStages();

}  // namespace pipeline
