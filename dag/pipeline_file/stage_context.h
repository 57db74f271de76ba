// Arguments of a stage factory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "dag/records/partition_output.h"
#include "dag/records/schema.h"

namespace pipeline {

class Store;

/// An artifact, or a file of the user, that a stage reads as a whole, beside its records.
struct ArtifactInput {
  std::shared_ptr<Store> directory;
  std::string file;   // in `directory`: the file that the user named; empty: an artifact
  Json facts;         // from the manifest of the artifact; null for a file
  std::string uri{};  // of `directory`, as the user wrote it, perhaps relative
  /// Named input of records only: the partition outputs in `directory`, by id. They have the columns of the
  /// incoming records.
  std::vector<PartitionOutput> outputs{};
};

struct StageContext {
  std::string name;  // of the stage, for messages
  Json config;       // every key with its default filled in
  Schema schema;     // of the incoming records
  /// By name of the input; NAME[0], NAME[1] … for an input that takes many.
  std::map<std::string, ArtifactInput, std::less<>> artifacts = {};
};

}  // namespace pipeline
