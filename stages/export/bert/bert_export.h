// Masked examples for BERT as an export format: the stage, the check and the row. On-disk format:
// stages/export/bert/bert.md.
#pragma once

#include <memory>

#include "stages/verify/export_format.h"

namespace pipeline {

StageType WriteBertType();
ExportFormat BertExport();

}  // namespace pipeline
