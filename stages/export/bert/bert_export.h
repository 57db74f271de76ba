// Masked examples for BERT as an export format. On-disk format: stages/export/bert/bert.md.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

ExportFormat BertExport();

}  // namespace pipeline
