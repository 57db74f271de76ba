#include "stages/export/packed/packed_export.h"

#include "stages/export/packed/packed_reader.h"
#include "stages/export/packed/verify_packed.h"
#include "stages/export/packed/write_packed.h"

namespace pipeline {

ExportFormat PackedExport() {
  return {.stage = WritePackedType(),
          .verify = MakePackedCheck,
          .read = ReadPacked,
          .claims = IsPackedFile,
          .print_spilled = PrintSpilledRow};
}

}  // namespace pipeline
