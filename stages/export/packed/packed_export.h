// Packed rows of token ids as an export format: the stage, the check and the row. On-disk format:
// stages/export/packed/packed.md.
#pragma once

#include <memory>

#include "stages/export/packed/row_packer.h"
#include "stages/verify/export_format.h"

namespace pipeline {

/// `weights` chooses the weights of the rows for a configuration. Null: the key `answers_after` does.
StageType WritePackedType(const ChooseWeights& weights = {});

std::unique_ptr<const ExportCheck> MakePackedCheck(const ExportLocation& artifact);
ExportFormat PackedExport();

}  // namespace pipeline
