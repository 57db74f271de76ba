// The stage that drops records by rules about their characters. Rules: stages/filter.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType FilterType();

}  // namespace pipeline
