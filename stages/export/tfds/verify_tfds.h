// Checks TFDS data sets. On-disk format: stages/export/tfds/tfds.md.
#pragma once

#include <memory>

#include "stages/verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeTfdsCheck(const ExportLocation& artifact);

}  // namespace pipeline
