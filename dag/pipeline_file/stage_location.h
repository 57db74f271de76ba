// The location of the artifact that a stage publishes.
#pragma once

#include <string>
#include <string_view>

#include "dag/pipeline_file/graph.h"

namespace pipeline {

/// Prefix of the location of an artifact below artifacts/ of the work directory.
inline constexpr std::string_view kWorkLocation = "work:";

/// Returns the URI of a publishing stage's artifact. Empty: the stage has no `out`, or the name of the
/// location has the recipe.
std::string LocationOfStage(const StageSpec& spec);

}  // namespace pipeline
