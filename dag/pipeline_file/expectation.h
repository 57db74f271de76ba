// The key `expect` of a stage: bounds on numbers that the stage counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/mistake.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

struct Reason;
struct StageType;

/// A bound on a metric of a stage, checked over the whole artifact.
struct Expectation {
  std::string metric;  // from MetricsOf() of the stage's type; with `is_reason` a name of a reason
  double low = 0;
  double high = 0;
  bool is_reason = false;
};

/// Returns whether stages of this type count anything. The others have neither records nor an `expect`.
bool IsCounted(const StageType& type);

/// Returns the metrics that `expect` may bound for this type, in addition to `reasons`: kMetrics, `dropped`
/// if the type drops records, and the type's own.
std::vector<FileKey> MetricsOf(const StageType& type);

/// Returns the reasons that count records or documents, and so have a share.
std::vector<const Reason*> ReasonsWithShare(const StageType& type);

/// Reads the value of `expect` and adds its mistakes to `mistakes`. `stage` begins the messages.
std::vector<Expectation> ReadExpectations(const YamlNode& node, const StageType& type, std::string_view stage,
                                          std::vector<Mistake>& mistakes);

}  // namespace pipeline
