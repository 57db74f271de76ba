#include "dag/run/assembly.h"

#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

/// Calls the factory; a failure gets the name of the stage.
template <class Kind>
auto Make(const Kind& kind, const Node& node,
          const std::map<std::string, ArtifactInput, std::less<>>& artifacts) {
  auto made = kind.make({node.spec->name, node.spec->config, node.in, artifacts});
  if (!made.ok()) {
    Status status = std::move(made).status();
    made = std::move(status).Annotate(StrCat("stage '", node.spec->name, "'"));
  }
  return made;
}

}  // namespace

Status MakeSource(const Graph& graph, const PlannedSegment& planned, Assembly& assembly) {
  const Node& node = graph[planned.chain.front()];
  const SourceKind* const kind = node.spec->type->source();
  if (kind == nullptr) return {};
  ASSIGN_OR_RETURN(assembly.source, Make(*kind, node, {}));
  assembly.stages = {node.spec->name};
  assembly.types = {node.spec->type};
  return {};
}

Result<Assembly> Assemble(const Graph& graph, const PlannedSegment& planned, const std::string& upstream,
                          std::unique_ptr<SinkStage> sink, const Artifacts& artifacts) {
  Assembly assembly;
  const std::map<std::string, ArtifactInput, std::less<>> none;
  const bool materialised = sink != nullptr;
  assembly.sink = std::move(sink);
  if (!upstream.empty()) assembly.stages.push_back(upstream), assembly.types.push_back(nullptr);
  for (const NodeId position : planned.chain) {
    const Node& node = graph[position];
    assembly.stages.push_back(node.spec->name);
    assembly.types.push_back(node.spec->type);
    const auto stage = static_cast<std::uint32_t>(assembly.stages.size() - 1);
    const auto at_named_inputs = artifacts.find(position);
    const auto& taken = at_named_inputs == artifacts.end() ? none : at_named_inputs->second;
    const StageType& type = *node.spec->type;
    if (const SourceKind* source_kind = type.source()) {
      ASSIGN_OR_RETURN(assembly.source, Make(*source_kind, node, taken));
      if (assembly.source->repair() != nullptr)
        assembly.spec.transforms.push_back({assembly.source->repair(), stage});
    } else if (const TransformKind* transform_kind = type.transform()) {
      ASSIGN_OR_RETURN(std::unique_ptr<Transform> transform, Make(*transform_kind, node, taken));
      assembly.spec.transforms.push_back({transform.get(), stage});
      assembly.transforms.push_back(std::move(transform));
    } else if (const ReaderKind* reader_kind = type.reader()) {
      ASSIGN_OR_RETURN(assembly.reader, Make(*reader_kind, node, taken));
    } else if (const JobKind* job_kind = type.job()) {
      ASSIGN_OR_RETURN(assembly.job, Make(*job_kind, node, taken));
      return assembly;
    } else if (const BarrierKind* barrier_kind = type.barrier()) {
      ASSIGN_OR_RETURN(std::unique_ptr<BarrierStage> barrier, Make(*barrier_kind, node, taken));
      if (planned.takes_in && position == planned.node)
        assembly.sink = std::move(barrier);
      else
        assembly.barrier = std::move(barrier);
    } else if (const SinkKind* sink_kind = type.sink()) {
      ASSIGN_OR_RETURN(assembly.sink, Make(*sink_kind, node, taken));
    }
    assembly.spec.splits = node.out.splits.empty() ? node.in.splits : node.out.splits;
  }
  const auto last = static_cast<std::uint32_t>(assembly.stages.size() - 1);
  if (assembly.sink->encoder() != nullptr)
    assembly.spec.transforms.push_back({assembly.sink->encoder(), last, !materialised});
  assembly.spec.stages = last + 1;
  return assembly;
}

}  // namespace pipeline
