// Reads the lines or rows of one text input into batches. Rules for lines, documents and partitions:
// formats/lines.md, formats/rows.md.
#pragma once

#include <memory>
#include <optional>

#include "dag/pipeline_file/subset.h"
#include "dag/records/source.h"
#include "formats/line_cutter.h"
#include "stages/sources/decoded_input.h"
#include "stages/sources/row_columns.h"

namespace pipeline {

/// Opens the input and decodes it on its own threads. A seekable input (plain, or an .xz of several
/// blocks) is read from the end of the last known partition before the first
/// wanted one; others are decoded from the front and skipped. Records are unchanged and may be invalid
/// UTF-8. Counts the reasons of formats/lines.md.
/// With `columns` each line is a row whose columns become text and label; bad rows are set aside and their
/// reasons counted. Documents outside `subset` are skipped, or not read at all.
Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               const InputRules& input, const Subset& subset,
                                               const std::optional<ColumnRules>& columns = std::nullopt);

}  // namespace pipeline
