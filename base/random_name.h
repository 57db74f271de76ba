// Names that nobody else takes: of runs, uploads, work directories. Never for what reaches an output's bytes.
#pragma once

#include <cstddef>
#include <string>

namespace pipeline {

/// So many hexadecimal digits, other ones at every call, on every machine.
std::string RandomName(std::size_t digits);

}  // namespace pipeline
