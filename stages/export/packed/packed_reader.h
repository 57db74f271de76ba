// Reads packed rows with their index. On-disk format: stages/export/packed/packed.md.
#pragma once

#include <memory>
#include <string_view>

#include "stages/verify/export_format.h"

namespace pipeline {

/// By packed.json, if it is beside the shards.
std::unique_ptr<const ExportReader> ReadPacked(const OpenBeside& beside);

/// A file with packed.json beside it, or one whose first record is a row.
bool IsPackedFile(const NamedFile& file);

/// A row behind the numbers of its index entry.
bool PrintSpilledRow(std::string_view payload, const RecordOrigin& origin, RecordOutput& output);

}  // namespace pipeline
