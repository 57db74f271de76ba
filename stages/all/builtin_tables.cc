#include "stages/all/builtin_tables.h"

#include <vector>

#include "stages/all/builtin.h"
#include "stages/export/bert/verify_bert.h"
#include "stages/export/bert/write_bert.h"
#include "stages/export/jsonl/verify_jsonl.h"
#include "stages/export/jsonl/write_jsonl.h"
#include "stages/export/packed/verify_packed.h"
#include "stages/export/packed/write_packed.h"
#include "stages/export/tfdata/verify_tfdata.h"
#include "stages/export/tfdata/write_tfdata.h"
#include "stages/export/tfds/verify_tfds.h"
#include "stages/export/tfds/write_tfds.h"

namespace pipeline {

const StageTables& BuiltinTables() {
  static const Registry types = BuiltinStages();
  static const std::vector<ExportFormat> exports = {
      {WritePackedType(), MakePackedCheck}, {WriteTfdsType(), MakeTfdsCheck},
      {WriteJsonlType(), MakeJsonlCheck},   {WriteBertType(), MakeBertCheck},
      {WriteTfdataType(), MakeTfdataCheck},
  };
  static const StageTables tables = {types, exports};
  return tables;
}

}  // namespace pipeline
