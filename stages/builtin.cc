#include "stages/builtin.h"

#include "stages/decompress.h"
#include "stages/download.h"
#include "stages/encode.h"
#include "stages/exec.h"
#include "stages/filter.h"
#include "stages/normalize.h"
#include "stages/read_rows.h"
#include "stages/sample.h"
#include "stages/segment_words.h"
#include "stages/split.h"
#include "stages/train_tokenizer.h"
#include "stages/write_jsonl.h"
#include "stages/write_packed.h"
#include "stages/write_tfdata.h"
#include "stages/write_tfds.h"

namespace pipeline {

// In the order in which a corpus meets them.
Registry BuiltinStages(const DictionaryPlaces& dictionaries) {
  return Registry({DownloadType(), DecompressType(), ReadRowsType(), NormalizeType(), FilterType(),
                   ExecType(), SplitType(), SampleType(), SegmentWordsType(dictionaries),
                   TrainTokenizerType(), EncodeType(), WritePackedType(), WriteTfdsType(), WriteJsonlType(),
                   WriteTfdataType()});
}

}  // namespace pipeline
