// HighwayHash-64: the hash in the headers of Riegeli and ArrayRecord files.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pipeline {

using HighwayKey = std::array<std::uint64_t, 4>;

std::uint64_t HighwayHash64(const HighwayKey& key, std::string_view bytes);

}  // namespace pipeline
