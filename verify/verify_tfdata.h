// Checks snapshots of tf.data. On-disk format: formats/tfdata.md.
#pragma once

#include <memory>

#include "verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeTfdataCheck(const ExportLocation& artifact);

}  // namespace pipeline
