#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "dag/books/quarantine.h"
#include "dag/books/run_log_line.h"
#include "dag/books/unit_id.h"
#include "formats/coding.h"
#include "formats/partition_file.h"
#include "formats/sentencepiece_model.h"
#include "formats/spill_file.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/all/builtin.h"
#include "stages/verify/example_reader.h"
#include "stages/verify/export_reader.h"

namespace pipeline {

namespace {

/// Prints records of any kind, one per line: as text or as a JSON object. One thread at a time.
class RecordPrinter final : public RecordOutput {
 public:
  /// `limit`: maximum number of records.
  RecordPrinter(Output& out, bool json, std::uint64_t limit) : out_(out), json_(json), limit_(limit) {}

  bool json() const override { return json_; }
  bool done() const override { return !out_.open() || printed_ >= limit_; }
  /// Writes a line break inside `text` as \n.
  void Line(std::string_view text) override {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      out_.Write(text.substr(0, end));
      out_.Write("\\n");
      text.remove_prefix(end + 1);
    }
    out_.Write(text);
    out_.Write("\n");
    ++printed_;
  }
  void Object(const Json& record) override {
    out_.Write(record.Dump());
    out_.Write("\n");
    ++printed_;
  }

 private:
  Output& out_;
  const bool json_;
  const std::uint64_t limit_;
  std::uint64_t printed_ = 0;
};

constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 30;

/// Returns 16 digits, because a hash has no meaning as a number.
std::string Hex64(std::uint64_t word) {
  return Hex32(static_cast<std::uint32_t>(word >> 32)) + Hex32(static_cast<std::uint32_t>(word));
}

// ------------------------------------------------------------------------------------- partitions

std::string_view TextAt(const PartitionRows::Column& column, std::size_t row) {
  const std::size_t begin = row == 0 ? 0 : column.ends[row - 1];
  return std::string_view(column.bytes).substr(begin, column.ends[row] - begin);
}

Json ValueAt(PartitionColumnType type, const PartitionRows::Column& column, std::size_t row) {
  switch (type) {
    case PartitionColumnType::kUtf8: return TextOrBase64(TextAt(column, row));
    case PartitionColumnType::kU8: return column.values[row];
    case PartitionColumnType::kU32List: break;
  }
  Json::Array numbers;
  for (std::size_t at = row == 0 ? 0 : column.ends[row - 1]; at < column.ends[row]; ++at)
    numbers.emplace_back(column.numbers[at]);
  return numbers;
}

/// Returns a row of a partition, with the name of its split if that is known.
Json RowToJson(const PartitionFileReader& reader, const PartitionRows& rows, std::size_t row,
               const std::vector<std::string>& split_names) {
  const PartitionHead& head = rows.heads[row];
  Json json;
  json["partition"] = PartitionName({reader.facts().input, reader.facts().partition});
  json["index"] = head.index;
  if (head.sub != 0) json["sub"] = head.sub;
  json["document"] = head.document;
  json["key"] = Hex64(head.key);
  json["columns"] = Json::Object{};
  for (std::size_t at = 0; at < reader.columns().size(); ++at) {
    const PartitionColumn& column = reader.columns()[at];
    const bool split = column.name == "split" && column.type == PartitionColumnType::kU8;
    const std::size_t number = split ? rows.columns[at].values[row] : 0;
    json["columns"][column.name] = split && number < split_names.size()
                                       ? Json(split_names[number])
                                       : ValueAt(column.type, rows.columns[at], row);
  }
  return json;
}

Status PrintPartition(std::shared_ptr<const ByteFile> file, const CatObject& object, RecordPrinter& printer) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionFileReader> reader,
                   PartitionFileReader::Open(std::move(file), {}));
  std::optional<std::size_t> text;
  for (std::size_t at = 0; at < reader->columns().size(); ++at)
    if (reader->columns()[at] == PartitionColumn{"text", PartitionColumnType::kUtf8}) text = at;
  PartitionRows rows;
  while (!printer.done()) {
    ASSIGN_OR_RETURN(const bool more, reader->Next(rows));
    if (!more) return {};
    for (std::size_t row = 0; row < rows.heads.size() && !printer.done(); ++row) {
      if (printer.json())
        printer.Object(RowToJson(*reader, rows, row, object.split_names));
      else if (text)
        printer.Line(TextAt(rows.columns[*text], row));
      else
        printer.Line(RowToJson(*reader, rows, row, object.split_names)["columns"].Dump());
    }
  }
  return {};
}

// ----------------------------------------------------------------------------------------- spills

/// Prints a payload: an example, bare or in a TFRecord frame, or a line. Only the bytes of any other are
/// known.
void PrintPayload(std::string_view payload, const RecordOrigin& origin, RecordPrinter& printer) {
  for (const ExportFormat& format : ExportFormats())
    if (format.print_spilled != nullptr && format.print_spilled(payload, origin, printer)) return;
  Result<TfExample> example = ParseTfExample(TfRecordIn(payload).value_or(payload));
  if (!example.ok() && !printer.json() && payload.ends_with('\n'))
    return printer.Line(payload.substr(0, payload.size() - 1));
  if (!example.ok()) example = TfExample{{"payload", TfBytesList{payload}}};
  PrintExample(*example, 0, ExampleView(), origin, printer);
}

Status PrintSpillFrame(const SpillIndex& index, const SpillSplit& split, std::string_view rows,
                       RecordPrinter& printer) {
  Decoder in(rows);
  while (in.left() > 0 && !printer.done()) {
    const SpillRow row = TakeSpillRow(in);
    if (!in.ok()) return Status(Code::kDataLoss, "its rows break off");
    const auto origin = [&] {
      Json json;
      json["partition"] = PartitionName({index.input, index.partition});
      json["split"] = split.number;
      json["hash"] = Hex64(row.hash);
      json["index"] = row.index;
      if (row.sub != 0) json["sub"] = row.sub;
      return json;
    };
    PrintPayload(row.payload, origin, printer);
  }
  return {};
}

Status PrintSpill(const ByteFile& file, RecordPrinter& printer) {
  ASSIGN_OR_RETURN(const SpillIndex index, ReadSpillIndex(file, {}));
  ZstdFrameCoder coder;
  std::string bytes;
  for (const SpillSplit& split : index.splits) {
    for (const SpillFrame& frame : split.frames) {
      if (printer.done()) return {};
      ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(frame.offset, {}));
      bytes.resize(frame.stored);
      RETURN_IF_ERROR(ReadExactly(*reader, bytes));
      RETURN_IF_ERROR(OpenSpillFrame(frame, index.compressed, coder, bytes));
      Status printed = PrintSpillFrame(index, split, bytes, printer);
      if (!printed.ok()) return std::move(printed).Annotate(StrCat("frame at offset ", frame.offset));
    }
  }
  return {};
}

// ------------------------------------------------------------------------------------------ lines

/// Calls `take` with each line, without its end, until it gives false or fails. `ended` tells whether the
/// line has its LF: only the last one may lack it.
Status ForEachLine(const ByteFile& file,
                   const std::function<Result<bool>(std::string_view line, bool ended)>& take) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  std::string chunk(256 << 10, '\0');
  std::string held;
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(chunk));
    if (got == 0) return held.empty() ? Status() : take(held, false).status();
    std::string_view rest = std::string_view(chunk).substr(0, got);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      held += rest.substr(0, end);
      ASSIGN_OR_RETURN(const bool more, take(held, true));
      if (!more) return {};
      held.clear();
      rest.remove_prefix(end + 1);
    }
    held += rest;
  }
}

Status PrintQuarantine(const ByteFile& file, const CatObject& object, RecordPrinter& printer) {
  std::uint64_t number = 0;
  return ForEachLine(file, [&](std::string_view line, bool) -> Result<bool> {
    ++number;
    const std::optional<Quarantined> record = ParseQuarantineLine(line);
    if (!record) return Status(Code::kDataLoss, StrCat("line ", number, ": not a quarantined record"));
    if (!printer.json()) {
      printer.Line(StrCat(record->reason, "\t", record->bytes));
      return !printer.done();
    }
    Json json;
    if (!object.stage.empty()) json["stage"] = object.stage;
    if (object.partition) json["partition"] = PartitionName(*object.partition);
    json["index"] = record->index;
    if (record->sub != 0) json["sub"] = record->sub;
    json["reason"] = record->reason;
    Json text = TextOrBase64(record->bytes);
    if (text.is_string())
      json["text"] = std::move(text);
    else
      json["base64"] = text["base64"];
    printer.Object(json);
    return !printer.done();
  });
}

/// Returns the fields by key; a key that occurs several times has an array.
Json FieldsToJson(std::string_view fields) {
  Json json = Json::Object{};
  while (!fields.empty()) {
    const std::string_view field = fields.substr(0, fields.find('\t'));
    fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view raw = field.substr(equals + 1);
    Json& value = json[field.substr(0, equals)];
    Json unescaped = Unescape(raw).value_or(std::string(raw));
    if (value.is_null()) {
      value = std::move(unescaped);
    } else {
      if (value.is_string()) value = Json::Array{value};
      value.Append(std::move(unescaped));
    }
  }
  return json;
}

Status PrintRunLog(const ByteFile& file, RecordPrinter& printer) {
  constexpr std::string_view kFirstLine = kRunLogFirstLine.substr(0, kRunLogFirstLine.size() - 1);
  std::uint64_t number = 0;
  std::uint64_t damaged = 0;
  std::uint64_t first_damaged = 0;
  RETURN_IF_ERROR(ForEachLine(file, [&](std::string_view line, bool ended) -> Result<bool> {
    ++number;
    if (number == 1 && line != kFirstLine)
      return Status(Code::kFailedPrecondition,
                    StrCat("line 1: not '", kFirstLine, "': written by another version"));
    if (number == 1 || !ended) return true;  // a line without its end is still being written
    const std::optional<LineHead> head = ScanLine(line);
    if (!head) {
      if (damaged++ == 0) first_damaged = number;
      return true;
    }
    if (!printer.json()) {
      printer.Line(StrCat(head->kind, "\t", head->fields));
      return !printer.done();
    }
    Json json;
    json["line"] = number;
    json["kind"] = head->kind;
    json["fields"] = FieldsToJson(head->fields);
    printer.Object(json);
    return !printer.done();
  }));
  if (damaged == 0) return {};
  return Status(Code::kDataLoss,
                StrCat("line ", first_damaged, ": damaged, ", damaged, " in all; a run passes over them"));
}

// -------------------------------------------------------------------------------------- tokenizers

/// Returns the score with only the digits that tell it from every other float.
double ScoreOf(const SentencePiece& piece) {
  std::array<char, 32> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), piece.score).ptr;
  double score = 0;
  std::from_chars(digits.data(), end, score);
  return score;
}

Status PrintTokenizer(const ByteFile& file, RecordPrinter& printer) {
  constexpr std::array<std::string_view, 7> kTypes = {
      "", "normal", "unknown", "control", "user_defined", "unused", "byte"};
  if (file.size() > kMaxModelBytes) return Status(Code::kDataLoss, "no model is that large");
  std::string bytes(file.size(), '\0');
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, file.Open(0, {}));
  RETURN_IF_ERROR(ReadExactly(*input, bytes));
  ASSIGN_OR_RETURN(const SentencePieceModel model, SentencePieceModel::Parse(bytes));
  for (std::size_t id = 0; id < model.pieces().size() && !printer.done(); ++id) {
    const SentencePiece& piece = model.pieces()[id];
    if (!printer.json()) {
      printer.Line(piece.text);
      continue;
    }
    Json json;
    json["id"] = id;
    json["piece"] = piece.text;
    json["score"] = ScoreOf(piece);
    json["type"] = kTypes[static_cast<std::size_t>(piece.type)];
    printer.Object(json);
  }
  return {};
}

Status PrintFile(std::shared_ptr<const ByteFile> file, const CatObject& object, RecordPrinter& printer) {
  switch (object.kind) {
    case ObjectKind::kShard:
    case ObjectKind::kText:
      return object.reader->Print({*file, object.name, object.split, object.shard}, printer);
    case ObjectKind::kPartition: return PrintPartition(std::move(file), object, printer);
    case ObjectKind::kSpill: return PrintSpill(*file, printer);
    case ObjectKind::kQuarantine: return PrintQuarantine(*file, object, printer);
    case ObjectKind::kRunLog: return PrintRunLog(*file, printer);
    case ObjectKind::kTokenizer: return PrintTokenizer(*file, printer);
  }
  return {};
}

/// Prints records from the front until the printer wants no more. On an error, the records before it were
/// printed; the message names the object. Members of the JSON objects, absent if unknown:
///   shard       those of its format: split, shard, index, and features {name: value} or others
///   partition   partition, index, sub, document, key, columns {name: value}
///   spill       partition, split (its number), hash, index, sub, features
///   quarantine  stage, partition, index, sub, reason, text or base64
///   tokenizer   id, piece, score, type
///   text        line, text or base64
///   run.log     line, kind, fields {key: value, or an array if a key occurs several times}
/// `sub` is absent if 0, `key` and `hash` are 16 hexadecimal digits; numbers count from 0, lines from 1.
Status PrintObject(const CatObject& object, RecordPrinter& printer) {
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  return PrintFile(std::move(file).value(), object, printer).Annotate(object.path);
}

struct CatOptions {
  std::vector<std::string> targets;  // artifacts or objects
  bool json = false;
  std::uint64_t limit = UINT64_MAX;
};

int Cat(const CatOptions& options) {
  const Attendance attendance({});
  std::vector<CatObject> objects;
  for (const std::string& target : options.targets) {
    Result<std::vector<CatObject>> found = FindCatObjects(target);
    if (!found.ok()) {
      LogError(found.status().message());
      return found.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
    }
    std::move(found->begin(), found->end(), std::back_inserter(objects));
  }
  Output out(STDOUT_FILENO);
  RecordPrinter printer(out, options.json, options.limit);
  Status status;
  for (const CatObject& object : objects) {
    if (printer.done() || !status.ok()) break;
    status = PrintObject(object, printer);
  }
  const Status written = out.Finish();  // before the error, so that the readable records come first
  if (!status.ok()) LogError(status.message());
  if (!written.ok()) LogError(written.message());
  return status.ok() && written.ok() ? kExitDone : kExitFailed;
}

}  // namespace

Command CatCommand() {
  const auto options = std::make_shared<CatOptions>();
  return {
      .name = "cat",
      .help = "Print the records of an artifact or of one of its objects",
      .words = {{.value = "WHAT",
                 .help =
                     "Directory of an artifact or quarantine; a shard; a .part, .spill, .jsonl or run.log of "
                     "a work directory; any text that a run reads; anywhere",
                 .required = true,
                 .to = &options->targets},
                {.flags = {"--json"},
                 .help = "A JSON object per record, with all columns; without it a line end is \\n",
                 .to = &options->json},
                {.flags = {"-l", "--limit"},
                 .value = "N",
                 .help = "Print at most N records",
                 .to = &options->limit}},
      .run = [options](const Call&) { return Cat(*options); },
  };
}

}  // namespace pipeline
