// Lines or rows of one text input as batches. How they are cut, and documents and partitions with them:
// formats/lines.md, formats/rows.md.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "formats/line_cutter.h"
#include "records/source.h"
#include "spec/reason.h"
#include "spec/subset.h"
#include "stages/decoded_input.h"
#include "stages/row_columns.h"

namespace pipeline {

/// What such a Source counts of lines, or of rows.
std::vector<Reason> LineReasons();

/// Opens the input, decoding on threads of its own. Where the input is seekable (plain, or an .xz of
/// several blocks that fit request.decoder_memory), it begins at the end of the last known partition
/// before the first wanted one; otherwise it decodes and passes over. Records come as they stand in the
/// input: they may be invalid UTF-8. Reasons counted: those of formats/lines.md.
/// With `columns` each line is a row of which those become text and label; bad ones are set aside, their
/// reasons counted. Documents outside of `subset` are passed over, or not read at all.
Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               const InputRules& input, const Subset& subset,
                                               const std::optional<ColumnRules>& columns = std::nullopt);

}  // namespace pipeline
