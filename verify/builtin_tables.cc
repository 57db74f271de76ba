#include "verify/builtin_tables.h"

#include <vector>

#include "stages/builtin.h"
#include "stages/write_bert.h"
#include "stages/write_jsonl.h"
#include "stages/write_packed.h"
#include "stages/write_tfdata.h"
#include "stages/write_tfds.h"
#include "verify/verify_bert.h"
#include "verify/verify_jsonl.h"
#include "verify/verify_packed.h"
#include "verify/verify_tfdata.h"
#include "verify/verify_tfds.h"

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
