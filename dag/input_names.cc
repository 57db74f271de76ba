#include "dag/input_names.h"

#include <string>

namespace pipeline {

Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files) {
  if (!stage.type->check_inputs) return {};
  std::vector<std::string> names;
  for (const SourceFile& file : files) names.push_back(file.input.name);
  return stage.type->check_inputs(stage.config, names);
}

}  // namespace pipeline
