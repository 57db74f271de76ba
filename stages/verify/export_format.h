// The row of an export format in the table of all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/form_version.h"
#include "dag/pipeline_file/stage_type.h"
#include "stages/verify/example_reader.h"
#include "stages/verify/export_check.h"
#include "stages/verify/export_reader.h"

namespace pipeline {

/// A file that a person names by its path, with everything that tells its format.
struct NamedFile {
  const ByteFile& bytes;
  std::string_view name;   // the last part of its path
  std::string_view front;  // its first bytes
  const OpenBeside& beside;
  const TfExample* first = nullptr;  // its first record; null: it has no tf.Examples
};

struct ExportFormat {
  StageType stage;  // publishes it; stage.name identifies the format
  std::unique_ptr<const ExportCheck> (*verify)(const ExportLocation& artifact);
  std::unique_ptr<const ExportReader> (*read)(const OpenBeside& beside);
  /// Whether a file is a shard of this format. Null: its shards are read as any file of tf.Examples.
  bool (*claims)(const NamedFile& file) = nullptr;
  /// Prints a payload that waits in a spill; false: it is none of this format. Null: its payloads are
  /// tf.Examples or lines, or tell nothing without their stage.
  bool (*print_spilled)(std::string_view payload, const RecordOrigin& origin, RecordOutput& output) = nullptr;
  /// Last parts of names of objects that a trainer takes for the sign of a complete artifact.
  std::vector<std::string_view> signs = {};
  /// The most tokens of a line that a stage with this configuration writes; 0: no limit; absent: its
  /// records are no such lines. Null: always absent.
  std::optional<std::int64_t> (*longest_line)(const Json& config, const Schema& schema) = nullptr;
  /// The form of a file of our own in the artifact; without a name: it has none.
  FormVersion form = {};
};

/// Everything that a check knows about stages. The tables outlive the check.
struct StageTables {
  const Registry& types;
  const std::vector<ExportFormat>& exports;
};

/// The row of the stage type `type`; null: it is no export format.
const ExportFormat* FindExportFormat(const std::vector<ExportFormat>& exports, std::string_view type);

/// Makes the check for the type of the stage that made the artifact. For an unknown type it checks bytes
/// only, and shards are then a finding.
std::unique_ptr<const ExportCheck> MakeExportCheck(const std::vector<ExportFormat>& exports,
                                                   const ExportLocation& artifact);

/// Makes the reader for the artifacts of stages of type `type`. For an unknown type it expects tf.Examples.
std::unique_ptr<const ExportReader> MakeExportReader(const std::vector<ExportFormat>& exports,
                                                     std::string_view type, const OpenBeside& beside);

/// Makes the reader for a file by the first row that claims it, or by its tf.Examples; null: it has none.
/// Fills in `first`.
std::unique_ptr<const ExportReader> MakeFileReader(const std::vector<ExportFormat>& exports, NamedFile file);

}  // namespace pipeline
