// Reads members of the events of a training, which another program wrote: each may be absent or of another
// type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pipeline {

inline constexpr std::size_t kMostEventText = 2000;  // bytes of a prompt, a sample or a document

/// NaN if `value` is no number.
inline double NumberOf(const Json& value) {
  return value.is_number() ? value.AsDouble() : std::numeric_limits<double>::quiet_NaN();
}

inline std::int64_t StepOf(const Json& event) { return std::max<std::int64_t>(event["step"].AsInt(), 0); }

inline std::string TextOf(const Json& value) {
  return std::string(value.AsString().substr(0, kMostEventText));
}

/// If there are too many items, keeps every second one, so that all parts of a long training stay visible.
template <class Item>
void Thin(std::vector<Item>& items, std::size_t most) {
  if (items.size() < 2 * most) return;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < items.size(); at += 2) items[kept++] = std::move(items[at]);
  items.resize(kept);
}

}  // namespace pipeline
