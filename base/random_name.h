// Unique names for runs, uploads, work directories. Never for the bytes of an output.
#pragma once

#include <cstddef>
#include <string>

namespace pipeline {

/// Returns `digits` hexadecimal digits, different at every call and on every machine.
std::string RandomName(std::size_t digits);

}  // namespace pipeline
