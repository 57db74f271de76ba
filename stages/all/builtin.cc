#include "stages/all/builtin.h"

#include <utility>
#include <vector>

#include "stages/all/export_formats.h"
#include "stages/lines/exec.h"
#include "stages/lines/filter.h"
#include "stages/lines/mix.h"
#include "stages/lines/normalize.h"
#include "stages/lines/sample.h"
#include "stages/lines/segment_words.h"
#include "stages/lines/split.h"
#include "stages/sources/decompress.h"
#include "stages/sources/download.h"
#include "stages/sources/read_examples.h"
#include "stages/sources/read_rows.h"
#include "stages/tokenizer/encode.h"
#include "stages/tokenizer/train_tokenizer.h"

namespace pipeline {

// Stages in the order in which a pipeline usually runs them.
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
  for (const ExportFormat& format : ExportFormats()) types.push_back(format.stage);
  return Registry(std::move(types));
}

}  // namespace pipeline
