// Checks packed rows. On-disk format: stages/export/packed/packed.md.
#pragma once

#include <memory>

#include "stages/verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakePackedCheck(const ExportLocation& artifact);

}  // namespace pipeline
