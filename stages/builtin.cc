#include "stages/builtin.h"

#include "stages/decompress.h"
#include "stages/download.h"
#include "stages/normalize.h"
#include "stages/sample.h"
#include "stages/segment_words.h"
#include "stages/split.h"
#include "stages/write_tfds.h"

namespace pipeline {

// In the order in which a corpus meets them.
Registry BuiltinStages(const DictionaryPlaces& dictionaries) {
  return Registry({DownloadType(), DecompressType(), NormalizeType(), SplitType(), SampleType(),
                   SegmentWordsType(dictionaries), WriteTfdsType()});
}

}  // namespace pipeline
