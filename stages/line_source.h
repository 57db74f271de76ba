// Lines of one text input as batches. How lines, documents and partitions are cut: formats/lines.md.
#pragma once

#include <memory>
#include <optional>

#include "dag/stage.h"
#include "formats/compression.h"
#include "formats/line_cutter.h"

namespace pipeline {

/// Opens the input, decoding on threads of its own. Where the input is seekable (plain, or an .xz of
/// several blocks that fit request.decoder_memory), it begins at the end of the last known partition
/// before the first wanted one; otherwise it decodes and passes over. Records come as they stand in the
/// input: they may be invalid UTF-8. Reasons counted: those of formats/lines.md.
Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               std::optional<Compression> format);

}  // namespace pipeline
