// Names of public TFDS data sets, which our data sets must not have.
#pragma once

#include <span>
#include <string_view>

namespace pipeline {

/// Sorted.
std::span<const std::string_view> PublicTfdsNames();

}  // namespace pipeline
