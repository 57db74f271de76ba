// The tables of all built-in stages and export formats.
#pragma once

#include <vector>

#include "dag/pipeline_file/stage_type.h"
#include "stages/lines/dictionary.h"
#include "stages/verify/export_format.h"

namespace pipeline {

/// In the order of their stages in the registry. The table lives as long as the program.
const std::vector<ExportFormat>& ExportFormats();

/// `dictionaries`: folders that segment_words searches first.
Registry BuiltinStages(const DictionaryPlaces& dictionaries = {});

/// The tables live as long as the program.
const StageTables& BuiltinTables();

}  // namespace pipeline
