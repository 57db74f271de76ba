#include "stages/all/builtin_tables.h"

#include "stages/all/builtin.h"
#include "stages/all/export_formats.h"

namespace pipeline {

const StageTables& BuiltinTables() {
  static const Registry types = BuiltinStages();
  static const StageTables tables = {types, ExportFormats()};
  return tables;
}

}  // namespace pipeline
