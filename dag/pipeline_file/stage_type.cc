#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

const ObjectNames* StageType::names() const {
  if (const SinkKind* const publisher = sink()) return &publisher->names;
  if (const JobKind* const publisher = job()) return &publisher->names;
  return nullptr;
}

std::string StageType::location(const Json& config) const {
  const SinkKind* const publisher = sink();
  return publisher != nullptr && publisher->location ? publisher->location(config) : std::string();
}

Json StageType::promises(const Json& config, const Schema& schema) const {
  const JobKind* const maker = job();
  return maker != nullptr && maker->promises ? maker->promises(config, schema) : Json(Json::Object{});
}

std::uint64_t StageType::model_memory(const Json& config) const {
  if (const TransformKind* const changer = transform())
    return changer->model_memory ? changer->model_memory(config) : 0;
  if (const SinkKind* const publisher = sink())
    return publisher->model_memory ? publisher->model_memory(config) : 0;
  return 0;
}

}  // namespace pipeline
