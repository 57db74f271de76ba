#include "stages/all/builtin.h"

#include <utility>
#include <vector>

#include "stages/export/bert/bert_export.h"
#include "stages/export/jsonl/jsonl_export.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/tfdata/tfdata_export.h"
#include "stages/export/tfds/tfds_export.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/split.h"
#include "stages/sources/source_stages.h"
#include "stages/tokenizer/tokenizer_stages.h"

namespace pipeline {

const std::vector<ExportFormat>& ExportFormats() {
  static const std::vector<ExportFormat> formats = {
      PackedExport(), TfdsExport(), JsonlExport(), BertExport(), TfdataExport(),
  };
  return formats;
}

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

const StageTables& BuiltinTables() {
  static const Registry types = BuiltinStages();
  static const StageTables tables = {types, ExportFormats()};
  return tables;
}

}  // namespace pipeline
