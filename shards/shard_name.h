// Whether the name of an object is one that a stage gives its shards: for ObjectNames (spec/registry.h).
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

/// True where `object` is what `name` gives for one of `splits` and some number of some count. The numbers
/// stand in it as NNNNN-of-MMMMM, or are 0 of 1.
bool IsShardName(std::string_view object, const std::vector<std::string>& splits, const NameShard& name);

/// Whether `object` lies in no directory, begins and ends so, and has more between.
bool IsLike(std::string_view object, std::string_view begin, std::string_view end);

bool IsOneOf(std::string_view object, std::initializer_list<std::string_view> names);

}  // namespace pipeline
