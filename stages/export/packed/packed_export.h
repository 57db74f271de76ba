// Packed rows of token ids as an export format. On-disk format: stages/export/packed/packed.md.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

ExportFormat PackedExport();

}  // namespace pipeline
