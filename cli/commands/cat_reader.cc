#include "cli/commands/cat_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "cli/commands/cat_rows.h"
#include "dag/books/quarantine.h"
#include "dag/books/run_log_line.h"
#include "dag/books/unit_id.h"
#include "formats/coding.h"
#include "formats/compression.h"
#include "formats/partition_file.h"
#include "formats/sentencepiece_model.h"
#include "formats/spill_file.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfds/tfds.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;
constexpr std::size_t kTextPieceBytes = 256 << 10;
constexpr std::size_t kMaxTextLine = 64 << 20;
constexpr std::string_view kRunLogVersion = "# pipe run log v1";

/// 16 digits: what is hashed has no meaning as a number.
std::string Hex64(std::uint64_t word) {
  std::array<char, 16> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  return std::string(16 - text.size(), '0').append(text);
}

// --------------------------------------------------------------------------------------- examples

/// The text of an example that has nothing else.
std::optional<std::string_view> OnlyText(const TfExample& example) {
  if (example.size() != 1) return std::nullopt;
  const auto* const texts = std::get_if<TfBytesList>(&example.begin()->second);
  if (texts == nullptr || texts->size() != 1) return std::nullopt;
  return texts->front();
}

/// The ids of an example that is a packed row, without those that fill it where its length is known.
std::optional<std::string> OnlyIds(const TfExample& example, const PackedRowFacts* row) {
  const auto tokens = example.find(kPackedFeature);
  const bool segments = example.contains(kPackedSegmentIds) && example.contains(kPackedPositions);
  if (tokens == example.end() || example.size() != (segments ? 3u : 1u)) return std::nullopt;
  const auto* const ids = std::get_if<TfInt64List>(&tokens->second);
  if (ids == nullptr) return std::nullopt;
  std::string text;
  for (std::size_t at = 0; at < ids->size() && (row == nullptr || at < row->length); ++at)
    text += StrCat(at == 0 ? "" : " ", (*ids)[at]);
  return text;
}

/// `facts` is where the record comes from; only looked at where JSON is wanted. `row` is null where nothing
/// is known beside the record.
void PrintExample(const TfExample& example, const PackedRowFacts* row, const std::function<Json()>& facts,
                  RecordPrinter& printer) {
  if (!printer.json()) {
    if (const std::optional<std::string_view> text = OnlyText(example)) return printer.Line(*text);
    const std::optional<std::string> ids = OnlyIds(example, row);
    return printer.Line(ids ? *ids : ToJson(example).Dump());
  }
  Json record = facts();
  if (row != nullptr) {
    record["length"] = row->length;
    record["bytes"] = row->bytes;
    record["chars"] = row->chars;
  }
  record["features"] = ToJson(example);
  printer.Object(record);
}

Status PrintShard(const ByteFile& file, const CatObject& object, RecordPrinter& printer) {
  const Result<std::vector<PackedIndexEntry>> rows = ReadShardIndex(object);
  if (!rows.ok())
    return Status(rows.status()).Annotate("its index cannot be read; move it away to see rows without it");
  ASSIGN_OR_RETURN(const NextExample next, OpenExamples(file, object));
  for (std::uint64_t index = 0; !printer.done(); ++index) {
    ASSIGN_OR_RETURN(const std::optional<TfExample> example, next());
    if (!example) return {};
    const auto facts = [&] {
      Json json;
      if (!object.split.empty()) json["split"] = object.split;
      if (object.shard) json["shard"] = *object.shard;
      json["index"] = index;
      return json;
    };
    PrintExample(*example, index < rows->size() ? &(*rows)[index].facts : nullptr, facts, printer);
  }
  return {};
}

Status PrintTokenIds(const ByteFile& file, const CatObject& object, RecordPrinter& printer) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, file.Open(0, {}));
  TfRecordReader reader(*input, kMaxRecordBytes);
  for (std::uint64_t index = 0; !printer.done(); ++index) {
    const std::uint64_t offset = reader.offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, reader.Next());
    if (!bytes) return {};
    const Result<std::uint32_t> id = ParseTfdataElement(*bytes);
    if (!id.ok()) return Status(id.status()).Annotate(StrCat("element at offset ", offset));
    if (!printer.json()) {
      printer.Line(std::to_string(*id));
      continue;
    }
    Json json;
    if (!object.split.empty()) json["split"] = object.split;
    if (object.shard) json["shard"] = *object.shard;
    json["index"] = index;
    json["id"] = *id;
    printer.Object(json);
  }
  return {};
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

/// A row of a partition, with the name of its split where that is known.
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

/// The record inside a payload that is one TFRecord frame, behind what an index keeps of it; all of a payload
/// that is neither.
std::string_view RecordOf(std::string_view payload) {
  for (const std::size_t front : {std::size_t{0}, kPackedIndexNumbers * sizeof(std::uint32_t)}) {
    if (payload.size() < front + kTfRecordOverhead) continue;
    const std::string_view frame = payload.substr(front);
    const std::uint64_t length = Decoder(frame).U64();
    if (length == frame.size() - kTfRecordOverhead) return frame.substr(12, length);
  }
  constexpr std::size_t kFacts = kPackedIndexNumbers * sizeof(std::uint32_t);
  if (payload.size() > kFacts && !ParseTfExample(payload).ok()) return payload.substr(kFacts);
  return payload;
}

Status PrintSpillFrame(const SpillIndex& index, const SpillSplit& split, std::string_view rows,
                       RecordPrinter& printer) {
  Decoder in(rows);
  while (in.left() > 0 && !printer.done()) {
    const SpillRow row = TakeSpillRow(in);
    if (!in.ok()) return Status(Code::kDataLoss, "its rows break off");
    Result<TfExample> example = ParseTfExample(RecordOf(row.payload));
    if (!example.ok() && !printer.json() && row.payload.ends_with('\n')) {  // JSON Lines
      printer.Line(row.payload.substr(0, row.payload.size() - 1));
      continue;
    }
    // Ids and nothing else: how wide they are is told where they will be published.
    if (!example.ok()) example = TfExample{{"payload", TfBytesList{row.payload}}};
    const auto facts = [&] {
      Json json;
      json["partition"] = PartitionName({index.input, index.partition});
      json["split"] = split.number;
      json["hash"] = Hex64(row.hash);
      json["index"] = row.index;
      if (row.sub != 0) json["sub"] = row.sub;
      return json;
    };
    PrintExample(*example, nullptr, facts, printer);
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

/// The fields by key; a key that stands several times has an array.
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
  std::uint64_t number = 0;
  std::uint64_t damaged = 0;
  std::uint64_t first_damaged = 0;
  RETURN_IF_ERROR(ForEachLine(file, [&](std::string_view line, bool ended) -> Result<bool> {
    ++number;
    if (number == 1 && line != kRunLogVersion)
      return Status(Code::kFailedPrecondition,
                    StrCat("line 1: not '", kRunLogVersion, "': written by another version"));
    if (number == 1 || !ended) return true;  // a line without its end is still on its way
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

/// With the digits that tell it from every other float, and no more.
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
  if (file.size() > kMaxRecordBytes) return Status(Code::kDataLoss, "no model is that large");
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

Status PrintText(const ByteFile& file, const CatObject& object, RecordPrinter& printer) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*input, kMagicBytes));
  ASSIGN_OR_RETURN(
      const Compression compression,
      DetectCompression(front, std::string_view(object.path).substr(object.path.rfind('/') + 1)));
  ASSIGN_OR_RETURN(input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, NewDecoder(compression, std::move(input)));
  std::string piece(kTextPieceBytes, '\0'), line;
  std::uint64_t number = 0;
  const auto print = [&] {
    ++number;
    if (!printer.json()) return printer.Line(line);
    Json json;
    json["line"] = number;
    json["text"] = TextOrBase64(line);
    printer.Object(json);
  };
  while (!printer.done()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) {
      if (!line.empty()) print();
      return {};
    }
    for (std::string_view rest(piece.data(), got); !rest.empty() && !printer.done();) {
      const std::size_t end = rest.find('\n');
      line.append(rest.substr(0, end));
      if (line.size() > kMaxTextLine)
        return Status(Code::kInvalidArgument, StrCat("line ", number + 1, " is longer than ",
                                                     HumanBytes(kMaxTextLine), ": this is no text of lines"));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      print();
      line.clear();
    }
  }
  return {};
}

Status PrintFile(std::shared_ptr<const ByteFile> file, const CatObject& object, RecordPrinter& printer) {
  switch (object.kind) {
    case ObjectKind::kShard: return PrintShard(*file, object, printer);
    case ObjectKind::kTokenIds: return PrintTokenIds(*file, object, printer);
    case ObjectKind::kPartition: return PrintPartition(std::move(file), object, printer);
    case ObjectKind::kSpill: return PrintSpill(*file, printer);
    case ObjectKind::kQuarantine: return PrintQuarantine(*file, object, printer);
    case ObjectKind::kRunLog: return PrintRunLog(*file, printer);
    case ObjectKind::kTokenizer: return PrintTokenizer(*file, printer);
    case ObjectKind::kText: return PrintText(*file, object, printer);
  }
  return {};
}

}  // namespace

Status PrintObject(const CatObject& object, RecordPrinter& printer) {
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  return PrintFile(std::move(file).value(), object, printer).Annotate(object.path);
}

}  // namespace pipeline
