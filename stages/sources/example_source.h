// Reads one TFRecord file of tf.train.Example into batches. Rules: formats/examples.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/subset.h"
#include "dag/records/source.h"
#include "stages/sources/row_columns.h"

namespace pipeline {

struct ExampleRules : TextRules {
  std::vector<std::string> labels;  // names by label number; empty: labels are taken as they are
  Subset subset;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
  std::uint64_t max_record_bytes = std::uint64_t{8} << 20;
};

/// Advice about a feature that no record has. `record`: one of them, and an LF; or nothing.
std::string AbsentFeatureAdvice(std::string_view record, const std::string& name);

/// Opens the input at the end of the last known partition before the first wanted one; a record begins
/// there. Records are unchanged: each is one row, and its text may contain line breaks and invalid UTF-8.
/// Bad records are set aside and their reasons counted. `rules` outlives the Source.
Result<std::unique_ptr<Source>> OpenExampleSource(SourceRequest request, const ExampleRules& rules);

}  // namespace pipeline
