#include "stages/all/export_formats.h"

#include "stages/export/bert/bert_export.h"
#include "stages/export/jsonl/jsonl_export.h"
#include "stages/export/packed/packed_export.h"
#include "stages/export/tfdata/tfdata_export.h"
#include "stages/export/tfds/tfds_export.h"

namespace pipeline {

const std::vector<ExportFormat>& ExportFormats() {
  static const std::vector<ExportFormat> formats = {
      PackedExport(), TfdsExport(), JsonlExport(), BertExport(), TfdataExport(),
  };
  return formats;
}

}  // namespace pipeline
