// The objects of a work package that are JSON with a version.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/result.h"

namespace pipeline {

/// The version of most of their forms.
inline constexpr std::uint32_t kPackageFormVersion = 1;

/// Parses an object whose member `member` is the version of its form: from 1 to `newest`.
/// kFailedPrecondition: a newer program wrote it. kDataLoss: it is damaged.
Result<Json> ParseVersioned(std::string_view text, std::string_view member,
                            std::uint32_t newest = kPackageFormVersion);

/// Returns whether an object cannot be read because of its bytes: they are damaged, or too many.
bool IsDamaged(const Status& why);

}  // namespace pipeline
