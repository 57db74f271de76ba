#include "stages/export/tfds/tfds_export.h"

#include "stages/export/tfds/tfds.h"

namespace pipeline {

namespace {

std::unique_ptr<const ExportReader> ReadTfds(const OpenBeside&) { return std::make_unique<ExampleReader>(); }

/// Returns the limit of data sets of lines, which have one text and no label; absent: another data set.
std::optional<std::int64_t> LongestLine(const Json& config, const Schema& schema) {
  if (schema.columns.contains("label") || !schema.field_names.empty()) return std::nullopt;
  return config["max_tokens"].AsInt(0);
}

}  // namespace

ExportFormat TfdsExport() {
  return {.stage = WriteTfdsType(),
          .verify = MakeTfdsCheck,
          .read = ReadTfds,
          .signs = {kTfdsInfoFile, kTfdsFeaturesFile},
          .longest_line = LongestLine};
}

}  // namespace pipeline
