// Checks TFDS data sets. On-disk format: formats/tfds.md.
#pragma once

#include <memory>

#include "verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeTfdsCheck(const ExportLocation& artifact);

}  // namespace pipeline
