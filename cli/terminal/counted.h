// "1 record", "7 records": a number with its noun.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

/// `one`: the noun of a single thing; it gets an s for every other number.
std::string Counted(std::uint64_t number, std::string_view one);

}  // namespace pipeline
