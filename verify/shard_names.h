// Whether the shards of a manifest are numbered without gaps and named as their readers look for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dag/manifest.h"
#include "verify/findings.h"

namespace pipeline {

/// `name` is what the object of a shard must be called.
void VerifyShardNames(
    const Manifest& manifest,
    const std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)>& name,
    Findings& findings);

}  // namespace pipeline
