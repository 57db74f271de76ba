#include "stages/verify/example_view.h"

#include <algorithm>
#include <string_view>

namespace pipeline {

std::optional<std::string> ExampleView::LineOf(std::uint64_t, const TfExample& example) const {
  if (example.size() != 1) return std::nullopt;
  const auto* const texts = std::get_if<TfBytesList>(&example.begin()->second);
  if (texts == nullptr || texts->size() != 1) return std::nullopt;
  return std::string(texts->front());
}

std::optional<SeenIds> ExampleView::IdsOf(std::uint64_t, const TfExample& example) const {
  std::optional<SeenIds> longest;
  for (const auto& [name, feature] : example)
    if (const auto* const numbers = std::get_if<TfInt64List>(&feature))
      longest = SeenIds{std::max<std::uint64_t>(longest ? longest->ids : 0, numbers->size())};
  return longest;
}

const TfInt64List* NumbersOf(const TfExample& example, std::string_view feature) {
  const auto found = example.find(feature);
  return found == example.end() ? nullptr : std::get_if<TfInt64List>(&found->second);
}

}  // namespace pipeline
