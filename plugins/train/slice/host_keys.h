// The keys `hosts`, `host` and `coordinator` of the stage. CONTRACT.md, section 1.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/hosts/discovery.h"

namespace pipeline {

/// kInvalidArgument names the key that is neither `auto` nor a value.
Result<HostKeys> ReadHostKeys(const Json& settings);

}  // namespace pipeline
