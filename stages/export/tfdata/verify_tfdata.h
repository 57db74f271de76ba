// Checks snapshots of tf.data. On-disk format: stages/export/tfdata/tfdata.md.
#pragma once

#include <memory>

#include "stages/verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeTfdataCheck(const ExportLocation& artifact);

}  // namespace pipeline
