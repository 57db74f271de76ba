#include "stages/shards/shard_name.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kOf = "-of-", kDigits = "0123456789";

/// The numbers around the last "-of-".
std::optional<std::pair<std::uint32_t, std::uint32_t>> NumbersIn(std::string_view object) {
  const std::size_t of = object.rfind(kOf);
  if (of == std::string_view::npos) return std::nullopt;
  const std::string_view before = object.substr(0, of), after = object.substr(of + kOf.size());
  const std::size_t begin = before.find_last_not_of(kDigits) + 1;
  const auto number = ParseNumber<std::uint32_t>(before.substr(begin));
  const auto count = ParseNumber<std::uint32_t>(after.substr(0, after.find_first_not_of(kDigits)));
  if (!number || !count || *number >= *count) return std::nullopt;
  return std::pair(*number, *count);
}

}  // namespace

bool IsShardName(std::string_view object, const std::vector<std::string>& splits, const NameShard& name) {
  const auto is = [&](std::uint32_t number, std::uint32_t count) {
    return std::any_of(splits.begin(), splits.end(),
                       [&](const std::string& split) { return name(split, number, count) == object; });
  };
  const auto numbers = NumbersIn(object);
  return (numbers && is(numbers->first, numbers->second)) || is(0, 1);
}

bool IsLike(std::string_view object, std::string_view begin, std::string_view end) {
  return object.find('/') == std::string_view::npos && object.size() > begin.size() + end.size() &&
         object.starts_with(begin) && object.ends_with(end);
}

bool IsOneOf(std::string_view object, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), object) != names.end();
}

}  // namespace pipeline
