// The reasons that a Source of lines or rows counts.
#pragma once

#include <string>
#include <vector>

#include "dag/pipeline_file/reason.h"
#include "formats/line_cutter.h"
#include "text/encoding.h"

namespace pipeline {

/// The reasons that such a Source counts, for lines or rows.
std::vector<Reason> LineReasons();

/// Adds what a cutter counted.
void AddCutReasons(const CutCounts& cut, StageCounts& counts);

/// Counts lines that were decoded: "decoded_shift_jis".
std::string DecodedReason(Encoding encoding);

}  // namespace pipeline
