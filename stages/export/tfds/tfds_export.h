// TFDS data sets as an export format. On-disk format: stages/export/tfds/tfds.md.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

ExportFormat TfdsExport();

}  // namespace pipeline
