#include "stages/builtin.h"

#include "stages/decompress.h"
#include "stages/download.h"
#include "stages/exec.h"
#include "stages/normalize.h"
#include "stages/split.h"
#include "stages/write_tfds.h"

namespace pipeline {

// In the order in which a corpus meets them.
Registry BuiltinStages() {
  return Registry(
      {DownloadType(), DecompressType(), NormalizeType(), ExecType(), SplitType(), WriteTfdsType()});
}

}  // namespace pipeline
