#include "plugins/plugin_view.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

Json MakerOf(const Node& maker) {
  const StageSpec& spec = *maker.spec;
  Json made;
  made["type"] = spec.type->name;
  made["config"] = spec.config;
  made["facts"] = spec.type->promises(spec.config, maker.in);
  made["splits"] = Json(Json::Array{});
  for (const std::string& split : maker.in.splits) made["splits"].Append(split);
  made["out"] = spec.out;
  return made;
}

}  // namespace

Json StageForPlugin(const Graph& graph, NodeId node) {
  const Node& found = graph[node];
  Json stage;
  stage["stage"] = found.spec->name;
  const std::string_view type = found.spec->type->name;
  stage["type"] = type.substr(type.find('.') + 1);
  stage["config"] = found.spec->config;
  stage["makers"] = Json(Json::Object{});
  for (const NamedInputEdge& named_input : found.named_inputs)
    if (named_input.node) stage["makers"][named_input.name] = MakerOf(graph[*named_input.node]);
  return stage;
}

}  // namespace pipeline
