// Recognizes the names that a stage gives its shards: for ObjectNames (dag/pipeline_file/stage_kinds.h).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

using NameShard =
    std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)>;

/// Returns whether `object` is a result of `name` for one of `splits`, some number and some count. The name
/// contains the numbers as NNNNN-of-MMMMM, or they are 0 of 1.
bool IsShardName(std::string_view object, const std::vector<std::string>& splits, const NameShard& name);

/// Returns whether `object` is in no directory, begins with `begin`, ends with `end`, and has more between.
bool IsLike(std::string_view object, std::string_view begin, std::string_view end);

bool IsOneOf(std::string_view object, std::initializer_list<std::string_view> names);

}  // namespace pipeline
