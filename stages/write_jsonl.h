// The stage that publishes JSON Lines. What lies on disk: formats/jsonl.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/registry.h"

namespace pipeline {

StageType WriteJsonlType();

/// The members of its rows, in order; `schema` of its records.
std::vector<std::string> JsonlMembers(const Json& config, const Schema& schema);

/// The file of a split, without what numbers it and without ".json".
std::string JsonlFileOf(const Json& config, std::string_view split);

/// Whether its rows are pairs for span corruption.
bool CorruptsSpans(const Json& config);

}  // namespace pipeline
