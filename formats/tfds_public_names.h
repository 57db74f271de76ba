// Names that a data set of ours must not have.
#pragma once

#include <span>
#include <string_view>

namespace pipeline {

/// Sorted.
std::span<const std::string_view> PublicTfdsNames();

}  // namespace pipeline
