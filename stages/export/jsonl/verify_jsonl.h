// Checks JSON Lines. On-disk format: stages/export/jsonl/jsonl.md.
#pragma once

#include <memory>

#include "stages/verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeJsonlCheck(const ExportLocation& artifact);

}  // namespace pipeline
