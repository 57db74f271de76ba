// JSON Lines as an export format. On-disk format: stages/export/jsonl/jsonl.md.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

ExportFormat JsonlExport();

}  // namespace pipeline
