#include "stages/builtin.h"

#include <utility>
#include <vector>

#include "stages/decompress.h"
#include "stages/download.h"
#include "stages/encode.h"
#include "stages/exec.h"
#include "stages/filter.h"
#include "stages/mix.h"
#include "stages/normalize.h"
#include "stages/read_examples.h"
#include "stages/read_rows.h"
#include "stages/sample.h"
#include "stages/segment_words.h"
#include "stages/split.h"
#include "stages/train_tokenizer.h"
#include "stages/write_bert.h"
#include "stages/write_jsonl.h"
#include "stages/write_packed.h"
#include "stages/write_tfdata.h"
#include "stages/write_tfds.h"

namespace pipeline {

// In the order in which a corpus meets them.
Registry BuiltinStages(const DictionaryPlaces& dictionaries) {
  std::vector<StageType> types;
  types.push_back(DownloadType());
  types.push_back(DecompressType());
  types.push_back(ReadRowsType());
  types.push_back(ReadExamplesType());
  types.push_back(NormalizeType());
  types.push_back(FilterType());
  types.push_back(ExecType());
  types.push_back(SplitType());
  types.push_back(MixType());
  types.push_back(SampleType());
  types.push_back(SegmentWordsType(dictionaries));
  types.push_back(TrainTokenizerType());
  types.push_back(EncodeType());
  types.push_back(WritePackedType());
  types.push_back(WriteTfdsType());
  types.push_back(WriteJsonlType());
  types.push_back(WriteBertType());
  types.push_back(WriteTfdataType());
  return Registry(std::move(types));
}

}  // namespace pipeline
