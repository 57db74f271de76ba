#include "stages/export/packed/packed_export.h"

#include "stages/export/packed/packed_reader.h"

namespace pipeline {

ExportFormat PackedExport() {
  return {.stage = WritePackedType(),
          .verify = MakePackedCheck,
          .read = ReadPacked,
          .claims = IsPackedFile,
          .print_spilled = PrintSpilledRow};
}

}  // namespace pipeline
