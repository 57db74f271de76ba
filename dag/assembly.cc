#include "dag/assembly.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

StageContext ContextOf(const Node& node) { return {node.spec->name, node.spec->config, node.in}; }

/// Calls the factory that the caller knows to be there and names the stage in what it says.
template <class Factory>
auto Make(const Node& node) {
  auto made = std::get<Factory>(node.spec->type->make)(ContextOf(node));
  if (!made.ok()) {
    Status status = std::move(made).status();
    made = std::move(status).Annotate(StrCat("stage '", node.spec->name, "'"));
  }
  return made;
}

}  // namespace

Result<Assembly> Assemble(const Graph& graph, const std::vector<int>& chain, const std::string& origin,
                          std::unique_ptr<SinkStage> sink) {
  Assembly assembly;
  const bool materialised = sink != nullptr;
  assembly.sink = std::move(sink);
  if (!origin.empty()) assembly.stages.push_back(origin);
  for (const int position : chain) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(position)];
    assembly.stages.push_back(node.spec->name);
    const auto stage = static_cast<std::uint32_t>(assembly.stages.size() - 1);
    if (node.spec->type->is_source()) {
      ASSIGN_OR_RETURN(assembly.source, Make<SourceFactory>(node));
      if (assembly.source->repair() != nullptr)
        assembly.spec.links.push_back({assembly.source->repair(), stage});
    } else if (node.spec->type->is_transform()) {
      ASSIGN_OR_RETURN(std::unique_ptr<Transform> transform, Make<TransformFactory>(node));
      assembly.spec.links.push_back({transform.get(), stage});
      assembly.transforms.push_back(std::move(transform));
    } else {
      ASSIGN_OR_RETURN(assembly.sink, Make<SinkFactory>(node));
    }
    assembly.spec.splits = node.out.splits.empty() ? node.in.splits : node.out.splits;
  }
  const auto last = static_cast<std::uint32_t>(assembly.stages.size() - 1);
  if (assembly.sink->encoder() != nullptr)
    assembly.spec.links.push_back({assembly.sink->encoder(), last, !materialised});
  assembly.spec.stages = last + 1;
  return assembly;
}

}  // namespace pipeline
