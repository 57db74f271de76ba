#include "plugins/plugin_view.h"

#include <string>
#include <string_view>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

Json MakerForPlugin(std::string_view type, const Json& config, const Json& facts,
                    const std::vector<std::string>& splits) {
  return Json::Object{{"type", type},
                      {"config", config},
                      {"facts", facts},
                      {"splits", Json::Array(splits.begin(), splits.end())}};
}

Json StageForPlugin(const Graph& graph, NodeId node) {
  const Node& found = graph[node];
  Json stage;
  stage["stage"] = found.spec->name;
  const std::string_view type = found.spec->type->name;
  stage["type"] = type.substr(type.find('.') + 1);
  stage["config"] = found.spec->config;
  stage["out"] = found.spec->out;
  stage["makers"] = Json(Json::Object{});
  for (const NamedInputEdge& named_input : found.named_inputs) {
    if (!named_input.node) continue;
    const Node& maker = graph[*named_input.node];
    const StageSpec& spec = *maker.spec;
    Json& made = stage["makers"][named_input.name];
    made = MakerForPlugin(spec.type->name, spec.config, spec.type->promises(spec.config, maker.in),
                          maker.in.splits);
    made["out"] = spec.out;
  }
  return stage;
}

}  // namespace pipeline
