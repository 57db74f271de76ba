// The row of an export format in the table of all of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/registry.h"
#include "stages/verify/export_check.h"

namespace pipeline {

struct ExportFormat {
  StageType stage;  // publishes it; stage.name identifies the format
  std::unique_ptr<const ExportCheck> (*verify)(const ExportLocation& artifact);
};

/// Everything that a check knows about stages. The tables outlive the check.
struct StageTables {
  const Registry& types;
  const std::vector<ExportFormat>& exports;
};

/// Makes the check for the type of the stage that made the artifact. For an unknown type it checks bytes
/// only, and shards are then a finding.
std::unique_ptr<const ExportCheck> MakeExportCheck(const std::vector<ExportFormat>& exports,
                                                   const ExportLocation& artifact);

}  // namespace pipeline
