// The object `holder` of a place, which identifies it among all machines: a work directory, a home, records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kHolderName = "holder";
inline constexpr std::uint64_t kMaxHolderBytes = 100;

/// Returns its text, 32 hexadecimal digits; makes it if the place has none. `place` is rooted there.
Result<std::string> HolderOf(Store& place);

}  // namespace pipeline
