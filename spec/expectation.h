// The key `expect` of a stage: bounds on what it did to its records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/file_keys.h"
#include "spec/mistake.h"
#include "spec/registry.h"
#include "spec/yaml.h"

namespace pipeline {

/// A bound on what a stage did to its records, judged over the whole artifact.
struct Expectation {
  std::string metric;  // one of MetricsOf the stage's type; with `is_reason` the name of one of its reasons
  double low = 0;
  double high = 0;
  bool is_reason = false;
};

/// Whether stages of this type count what they do: the others have neither records nor an `expect`.
bool IsCounted(const StageType& type);

/// What `expect` may bound of a stage of this type, beside `reasons`: kMetrics, `dropped` where it drops
/// records, and its own.
std::vector<FileKey> MetricsOf(const StageType& type);

/// Those of its reasons that are counted of records or documents, and so have a share.
std::vector<const Reason*> ReasonsWithShare(const StageType& type);

/// Reads the value of `expect`; what is wrong with it goes to `mistakes`. `stage` begins the messages.
std::vector<Expectation> ReadExpectations(const YamlNode& node, const StageType& type, std::string_view stage,
                                          std::vector<Mistake>& mistakes);

}  // namespace pipeline
