// Tables of the stage types that this program knows. No type registers itself.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Immutable once built; outlives everything made from it.
class Registry {
 public:
  explicit Registry(std::vector<StageType> types) : types_(std::move(types)) {}
  /// Returns null if no stage type has that name.
  const StageType* Find(std::string_view name) const {
    for (const StageType& type : types_)
      if (type.name == name) return &type;
    return nullptr;
  }
  const std::vector<StageType>& types() const { return types_; }

 private:
  std::vector<StageType> types_;
};

}  // namespace pipeline
