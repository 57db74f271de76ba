#include "cli/commands/stage_preparation.h"

#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"
#include "plugins/plugin_view.h"

namespace pipeline {

namespace {

Json AboutRun(const PipelineOptions& options, const Graph& graph, NodeId node) {
  Json about = StageForPlugin(graph, node);
  about["file"] = options.file;
  about["set"] = Json(Json::Object{});
  for (const auto& [name, value] : options.set) about["set"][name] = value;
  return about;
}

Status PrepareStage(const RunRequest& request, const Graph& graph, NodeId node) {
  const StageSpec& spec = *graph[node].spec;
  Status ready;
  const JobKind* const job = spec.type->job();
  if (job != nullptr && job->prepare_run)
    ready = job->prepare_run(spec.config, AboutRun(request.pipeline, graph, node), request.dry_run);
  else if (spec.type->prepare)
    ready = spec.type->prepare(spec.config);
  return std::move(ready).Annotate(StrCat("stage '", spec.name, "'"));
}

}  // namespace

Status PrepareStages(const RunRequest& request, const Graph& graph, const Plan& plan) {
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted || !segment.copy_from.empty()) continue;
    for (const NodeId node : segment.chain) RETURN_IF_ERROR(PrepareStage(request, graph, node));
  }
  return {};
}

}  // namespace pipeline
