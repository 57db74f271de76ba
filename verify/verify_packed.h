// Checks packed rows. On-disk format: formats/packed.md.
#pragma once

#include <memory>

#include "verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakePackedCheck(const ExportLocation& artifact);

}  // namespace pipeline
