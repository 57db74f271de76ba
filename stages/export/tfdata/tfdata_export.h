// Directories for tf.data.Dataset.load as an export format. On-disk format: stages/export/tfdata/tfdata.md.
#pragma once

#include "stages/verify/export_format.h"

namespace pipeline {

ExportFormat TfdataExport();

}  // namespace pipeline
