#include "cli/workspace/work_place.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/str.h"
#include "dag/home/scratch.h"
#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/pipeline_file/subset.h"

namespace pipeline {

namespace {

/// The names right below a home that are its own; dag/home/home.md
constexpr std::array<std::string_view, 7> kOwnNames{"artifacts", "log",    "quarantine", "runs",
                                                    "package",   "holder", ".pipe"};

/// Returns whether `inner` is `outer` or below it.
bool IsBelow(std::string_view inner, std::string_view outer) {
  return inner == outer || (inner.starts_with(outer) && inner.substr(outer.size()).starts_with('/'));
}

bool IsOwn(const std::string& location, const std::string& home) {
  return location == home || std::any_of(kOwnNames.begin(), kOwnNames.end(), [&](std::string_view name) {
           return IsBelow(location, StrCat(home, "/", name));
         });
}

}  // namespace

bool WorkPlace::may_exist() const {
  std::error_code ignored;
  return is_remote() || std::filesystem::exists(home, ignored);
}

WorkPlace WorkPlaceOf(const PipelineOptions& options, const PipelineSpec& spec) {
  WorkPlace place{options.work.empty() ? StrCat(".pipe/", spec.name) : options.work};
  if (place.is_remote()) {
    while (place.home.ends_with('/')) place.home.pop_back();
    place.scratch = options.scratch.empty() ? ScratchFor(place.home, StrCat(".pipe/", spec.name, ".scratch"))
                                            : options.scratch;
    if (const Result<std::uint64_t> bytes = ParseBytes(options.scratch_size); bytes.ok())
      place.most_cached = *bytes;
  }
  if (options.subset.empty()) return place;
  const std::string below = StrCat("/", SubsetLocation(options.subset));
  place.home += below;
  if (place.is_remote()) {
    place.scratch += below;
    if (options.scratch.empty()) place.scratch = ScratchFor(place.home, place.scratch);
  }
  return place;
}

Status CheckApart(const WorkPlace& place, const Graph& graph) {
  if (!place.is_remote()) return {};
  for (const NodeId node : graph.nodes().ids()) {
    const StageSpec& spec = *graph[node].spec;
    std::string location = spec.type->publishes() ? LocationOfStage(spec) : std::string();
    while (location.ends_with('/')) location.pop_back();
    if (location.empty() || !IsRemote(location)) continue;
    if (IsOwn(location, place.home))
      return Status(Code::kInvalidArgument,
                    StrCat("stage '", spec.name, "': `out` is ", location, ", among the objects of the home ",
                           place.home, "; publish beside it, or name another --work"));
    if (IsBelow(place.home, location))
      return Status(Code::kInvalidArgument, StrCat(place.home, ": is inside ", location, ", where stage '",
                                                   spec.name, "' publishes; name another --work"));
  }
  return {};
}

}  // namespace pipeline
