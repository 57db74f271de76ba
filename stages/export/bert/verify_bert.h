// Checks pre-training records of BERT. On-disk format: stages/export/bert/bert.md.
#pragma once

#include <memory>

#include "stages/verify/export_check.h"

namespace pipeline {

std::unique_ptr<const ExportCheck> MakeBertCheck(const ExportLocation& artifact);

}  // namespace pipeline
