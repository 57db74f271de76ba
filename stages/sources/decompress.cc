#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dag/pipeline_file/reading_rules.h"
#include "stages/lines/utf8_repair.h"
#include "stages/sources/file_splits.h"
#include "stages/sources/input_keys.h"
#include "stages/sources/line_number.h"
#include "stages/sources/line_reasons.h"
#include "stages/sources/line_source.h"
#include "stages/sources/scan_note.h"
#include "stages/sources/source_stages.h"

namespace pipeline {

namespace {

Status CheckDecompress(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckInputKeys(config));
  RETURN_IF_ERROR(CheckCutKeys(config));
  schema.columns["text"] = ColumnType::kUtf8;
  return CheckFileSplits(config, schema);
}

Result<std::unique_ptr<SourceStage>> MakeDecompress(const StageContext& context) {
  const Json& config = context.config;
  auto stage = std::make_unique<LineStage>();
  LineRules& rules = stage->rules;
  ReadCutKeys(config, rules);
  rules.space_is_blank = rules.cr_may_end_lines = ReadingRulesOf(config) >= 2;
  rules.documents = config["documents"].AsString() == "line" ? Documents::kLine : Documents::kBlankLine;
  rules.max_document_bytes = static_cast<std::uint64_t>(config["max_document_bytes"].AsInt());
  ASSIGN_OR_RETURN(stage->subset, SubsetOf(config));
  stage->text_of_lines = std::make_unique<Utf8Repair>(InvalidUtf8Of(config), rules.space_is_blank);
  if (std::optional<FaultBound> invalid = InvalidLinesBound(config))
    stage->faults.push_back(*std::move(invalid));
  if (rules.on_long == OnLong::kQuarantine) stage->faults.push_back(LongLinesBound(config));
  stage->input = InputRulesOf(config, "format");
  if (ReadingRulesOf(config) >= 2 && stage->input.forms == TextForms::kRows)
    stage->input.forms = stage->input.archive.forms = TextForms::kProse;
  return WithFileSplits(config, std::move(stage));
}

}  // namespace

StageType DecompressType() {
  StageType type;
  type.name = "decompress";
  type.help = "Reads text files, compressed or archived or neither, as records of one line each.";
  type.takes = Flow::kFiles;
  type.gives = Flow::kRecords;
  const std::vector<ConfigKey> keys = {
      Choice("documents", "blank_line", {"blank_line", "line"},
             "The end of a document: a blank line, or the end of each line."),
      {"partition", ValueType::kBytes, "64MiB",
       "Bytes of text after which a partition closes, at the next end of a document."},
      {"max_document_bytes", ValueType::kBytes, "64MiB",
       "Bytes of one document after which a partition closes inside it."},
      {"max_record_bytes", ValueType::kBytes, "8MiB", "The longest line that becomes one record."},
      Choice("on_long", "split", {"split", "quarantine", "fail"},
             "Treatment of a longer line: split at a sentence end, set aside, or a failure."),
      Choice("invalid_utf8", "replace", {"replace", "quarantine", "fail"},
             "Treatment of a line with invalid UTF-8 or NUL: repaired with U+FFFD, set aside, or a failure."),
  };
  type.keys = InputKeys("format");
  type.keys.insert(type.keys.end(), keys.begin(), keys.end());
  type.keys.push_back(FileSplitsKey());
  type.newest_rules =
      "take lines of white space alone as blank, end lines at CR in a text without LF, and know more "
      "encodings";
  type.reasons = LineReasons();
  for (Reason& reason : RepairReasons()) type.reasons.push_back(std::move(reason));
  type.check = CheckDecompress;
  type.kind =
      SourceKind{.make = MakeDecompress, .check_inputs = CheckInputSplits, .taken_from_names = SplitsOfFiles};
  return type;
}

}  // namespace pipeline
