#include <array>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/reading_rules.h"
#include "stages/sources/file_splits.h"
#include "stages/sources/input_keys.h"
#include "stages/sources/line_number.h"
#include "stages/sources/line_reasons.h"
#include "stages/sources/line_source.h"
#include "stages/sources/row_text.h"
#include "stages/sources/scan_note.h"
#include "stages/sources/source_stages.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// The reasons which show that the file has another form than expected.
constexpr std::array<std::string_view, 6> kRowFaults = {"dropped_quotes",     "dropped_columns",
                                                        "dropped_json",       "dropped_no_field",
                                                        "dropped_wrong_type", "long_quarantined"};

bool IsJson(const Json& config) { return config["format"].AsString() == "jsonl"; }

std::vector<std::string> TextColumns(const Json& config) {
  std::vector<std::string> columns;
  for (const Json& column : config["text"].AsArray()) columns.emplace_back(column.AsString());
  return columns;
}

Status CheckColumns(const Json& config) {
  const std::vector<std::string> text = TextColumns(config);
  if (text.empty()) return Status(Code::kInvalidArgument, "text: an empty list; name at least one column");
  std::set<std::string_view> seen;
  for (const std::string& column : text)
    if (!seen.insert(column).second)
      return Status(Code::kInvalidArgument, StrCat("text: '", column, "' comes twice"));
  if (config.Has("label")) seen.insert(config["label"].AsString());
  if (seen.contains("")) return Status(Code::kInvalidArgument, "text and label: a column needs a name");
  if (IsJson(config) || config["header"].AsBool()) return {};
  for (const std::string_view column : seen)
    if (!ColumnPosition(column))
      return Status(Code::kInvalidArgument,
                    StrCat("'", column, "': without a header, columns are positions from 1 to ", kMostColumns,
                           "; set header: true if the first row has names"));
  return {};
}

Status CheckReadRows(const Json& config, Schema& schema) {
  RETURN_IF_ERROR(CheckInputKeys(config));
  RETURN_IF_ERROR(CheckCutKeys(config));
  RETURN_IF_ERROR(CheckMaxBadRows(config));
  RETURN_IF_ERROR(CheckColumns(config));
  if (IsJson(config) && config["quoting"].AsString() != "auto")
    return Status(Code::kInvalidArgument, "quoting: JSON has its own; leave the key out");
  schema.columns["text"] = ColumnType::kUtf8;
  if (config.Has("label")) schema.columns["label"] = ColumnType::kUtf8;
  if (AreFields(config)) {
    schema.columns["fields"] = ColumnType::kU32List;
    schema.field_names = TextColumns(config);
  }
  return CheckFileSplits(config, schema);
}

Result<std::unique_ptr<SourceStage>> MakeReadRows(const StageContext& context) {
  const Json& config = context.config;
  const bool csv = config["format"].AsString() == "csv";
  const std::string_view quoting = config["quoting"].AsString();
  RowTextRules text;
  text.json = IsJson(config);
  text.fail = config["on_bad_row"].AsString() == "fail";
  text.text = TextColumns(config);
  text.label = config["label"].AsString();
  text.fields = AreFields(config);
  text.invalid = InvalidUtf8Of(config);
  text.may_lack = text.mends_surrogates = text.space_is_blank = text.finds_iso2022 =
      ReadingRulesOf(config) >= 2;

  auto stage = std::make_unique<LineStage>();
  LineRules& rules = stage->rules;
  ReadCutKeys(config, rules);
  rules.space_is_blank = rules.cr_may_end_lines = text.space_is_blank;
  rules.documents = Documents::kLine;
  rules.max_document_bytes = std::numeric_limits<std::uint64_t>::max();
  rules.wrong_quotes_end_lines = ReadingRulesOf(config) >= 2;
  if (!text.json) {
    const ColumnRules columns{text, csv ? ',' : '\t', quoting == "rfc4180" || (quoting == "auto" && csv),
                              config["header"].AsBool()};
    rules.header = columns.header;
    if (columns.quotes) rules.quoted_delimiter = columns.delimiter;
    stage->columns = columns;
  }
  stage->input = InputRulesOf(config, "compression");
  ASSIGN_OR_RETURN(stage->subset, SubsetOf(config));
  const auto advice = [rules = text, columns = stage->columns, most = rules.max_record_bytes](
                          std::string_view reason, std::string_view rows) {
    if (rules.json) return MembersAdvice(rows, rules);
    if (reason == "dropped_quotes") return QuotesAdvice(rows, most);
    return reason == "dropped_columns" ? WidthAdvice(*columns) : std::string("mend it");
  };
  stage->faults = {
      BadRowsBound(config, {kRowFaults.begin(), kRowFaults.end()}, advice),
      NoTextBound(config, [rules = text](std::string_view rows) { return MembersAdvice(rows, rules); })};
  if (std::optional<FaultBound> invalid = InvalidLinesBound(config))
    stage->faults.push_back(*std::move(invalid));
  stage->needed_columns = NeededColumns(text, "column", "row", kRowFaults, AbsentAdvice);
  stage->text_of_lines = std::make_unique<RowText>(std::move(text));
  return WithFileSplits(config, std::move(stage));
}

}  // namespace

StageType ReadRowsType() {
  StageType type;
  type.name = "read_rows";
  type.version = 3;  // from 2, unread members may have NaN and lone surrogates; from 3, any number
  type.help = "Reads tables, compressed or archived or neither, as records: a row is a document.";
  type.takes = Flow::kFiles;
  type.gives = Flow::kRecords;
  const std::vector<ConfigKey> keys = {
      Choice("format", "", {"jsonl", "tsv", "csv"}, "How rows are written."),
      {"text", ValueType::kStrings, "",
       "The column that becomes the text, or several that become lines of it: names, or positions from 1 "
       "on."},
      Choice("columns", "lines", {"lines", "fields"},
             "Several columns of text become lines of a document, or fields of one record."),
      {"label", ValueType::kString, "~",
       "The column that becomes the label; line ends in the text are then spaces."},
      {"header", ValueType::kBoolean, "true", "Whether the first row of tsv and csv names the columns."},
      Choice("quoting", "auto", {"auto", "none", "rfc4180"},
             "Whether quotes enclose fields that hold delimiters or line ends; `auto`: in csv, not in tsv."),
      Choice("on_bad_row", "quarantine", {"quarantine", "fail"},
             "Treatment of a row that is not as it should be: set aside and counted, or a failure."),
      {"partition", ValueType::kBytes, "64MiB",
       "Bytes of rows after which a partition closes, at the next end of a row."},
      {"max_record_bytes", ValueType::kBytes, "8MiB", "The longest row that is read."},
      Choice("on_long", "quarantine", {"quarantine", "fail"},
             "Treatment of a longer row: set aside, or a failure."),
      Choice("invalid_utf8", "replace", {"replace", "quarantine", "fail"},
             "Treatment of a row with invalid UTF-8 or NUL: repaired with U+FFFD, set aside, or a failure."),
  };
  type.newest_rules =
      "keep rows that lack a column of several or hold lone surrogates, take lines of white space alone as "
      "blank, end rows at CR in a text without LF, read on behind the line of a wrong quote, and know more "
      "encodings";
  type.keys = keys;
  for (ConfigKey& key : InputKeys("compression")) type.keys.push_back(std::move(key));
  type.keys.push_back(MaxBadRowsKey());
  type.keys.push_back(FileSplitsKey());
  type.reasons = {
      Drop("dropped_quotes", "A row of csv whose quotes are wrong."),
      Drop("dropped_columns", "A row of tsv or csv with other than the columns of the header."),
      Drop("dropped_json", "A row that is no JSON object."),
      Drop("dropped_no_field", "A row of JSON without the label; with rules 1, or without the text."),
      Drop("dropped_wrong_type", "A row of JSON whose text or label is something else."),
      {"lone_surrogate", "It held half of a surrogate pair in JSON, which became U+FFFD."},
  };
  for (auto reasons : {RowTextReasons(), LineReasons()})
    for (Reason& reason : reasons)
      if (reason.of != Reason::Of::kDocuments && FindReason(type.reasons, reason.name) == nullptr)
        type.reasons.push_back(std::move(reason));
  type.check = CheckReadRows;
  type.kind =
      SourceKind{.make = MakeReadRows, .check_inputs = CheckInputSplits, .taken_from_names = SplitsOfFiles};
  return type;
}

}  // namespace pipeline
