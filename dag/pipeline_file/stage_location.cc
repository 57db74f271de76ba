#include "dag/pipeline_file/stage_location.h"

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

std::string LocationOfStage(const StageSpec& spec) {
  const JobKind* const job = spec.type->job();
  if (spec.out.empty() || (job != nullptr && job->location_of_recipe)) return {};
  const std::string below = spec.type->location(spec.config);
  if (below.empty()) return spec.out;
  return spec.out.ends_with('/') ? spec.out + below : StrCat(spec.out, "/", below);
}

}  // namespace pipeline
