// Names of slices of TPUs, and what the API of Google Cloud calls them: cli/tpu/tpu.md
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// A slice, or several of one size with a slower network between them.
struct SliceType {
  std::string name;   // of one slice: "v3-8", "v5e-16"
  std::string type;   // of one slice in the API: "v5litepod-16"
  std::string image;  // that the machines begin with
  int slices = 1;
  bool queued = false;  // it is asked for by a queued resource

  bool operator==(const SliceType&) const = default;
  /// "v3-8", "2xv5e-16".
  std::string Describe() const;
};

/// Parses "v3-8", "2xv5e-16", "v5litepod-4". kInvalidArgument: there is no such slice.
Result<SliceType> ParseSliceType(std::string_view name);

}  // namespace pipeline
