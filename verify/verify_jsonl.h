// Checks JSON Lines. On-disk format: formats/jsonl.md.
#pragma once

#include <memory>

#include "verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeJsonlCheck(const ExportLocation& artifact);

}  // namespace pipeline
