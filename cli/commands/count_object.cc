#include "cli/commands/count_object.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/str.h"
#include "cli/commands/cat_rows.h"
#include "formats/compression.h"
#include "formats/partition_file.h"
#include "formats/tfrecord.h"
#include "stages/export/packed/packed.h"
#include "stages/export/tfdata/tfdata.h"
#include "stages/export/tfds/tfds.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kMaxLine = 64 << 20;
constexpr std::string_view kBertIds = "input_ids", kBertMask = "input_mask";

Status NoText(std::string_view what) {
  return Status(Code::kInvalidArgument, StrCat(what, " has no text to count; `pipe cat` shows what it has"));
}

const TfInt64List* NumbersOf(const TfExample& example, std::string_view feature) {
  const auto found = example.find(feature);
  return found == example.end() ? nullptr : std::get_if<TfInt64List>(&found->second);
}

/// The ids of an example that is made of ids: those of a packed row, those that BERT's mask lets stand, or
/// all of its longest list.
std::optional<std::uint64_t> IdsOf(const TfExample& example) {
  if (const TfInt64List* tokens = NumbersOf(example, kPackedFeature)) return tokens->size();
  const TfInt64List* const mask = NumbersOf(example, kBertMask);
  if (mask != nullptr && NumbersOf(example, kBertIds) != nullptr)
    return static_cast<std::uint64_t>(
        std::count_if(mask->begin(), mask->end(), [](std::int64_t one) { return one != 0; }));
  std::optional<std::uint64_t> longest;
  for (const auto& [name, feature] : example)
    if (const auto* const numbers = std::get_if<TfInt64List>(&feature))
      longest = std::max<std::uint64_t>(longest.value_or(0), numbers->size());
  return longest;
}

/// The feature `text`, else all features that are text, one behind the other; absent where there is none.
std::optional<std::string> TextOf(const TfExample& example) {
  std::optional<std::string> text;
  const bool has_text = example.contains(kTfdsTextFeature);
  for (const auto& [name, feature] : example) {
    const auto* const values = std::get_if<TfBytesList>(&feature);
    if (values == nullptr || (has_text && name != kTfdsTextFeature)) continue;
    if (!text) text.emplace();
    for (const std::string_view value : *values) {
      if (!IsCleanUtf8(value)) return std::nullopt;
      text->append(value);
    }
  }
  return text;
}

Status CountShard(const ByteFile& file, const CatObject& object, ExportStats& stats) {
  const Result<std::vector<PackedIndexEntry>> rows = ReadShardIndex(object);
  if (!rows.ok())
    return Status(rows.status()).Annotate("its index cannot be read; move it away to count rows without it");
  ASSIGN_OR_RETURN(const NextExample next, OpenExamples(file, object));
  std::optional<bool> has_texts;
  for (std::size_t index = 0;; ++index) {
    ASSIGN_OR_RETURN(const std::optional<TfExample> example, next());
    if (!example) return {};
    const std::optional<std::string> text = TextOf(*example);
    const std::optional<std::uint64_t> ids = text ? std::nullopt : IdsOf(*example);
    if (has_texts.value_or(text.has_value()) != text.has_value() || (!text && !ids))
      return NoText(StrCat("record ", index, " (from 0)"));
    has_texts = text.has_value();
    if (text) {
      stats.AddText(*text);
    } else if (index < rows->size()) {
      const PackedRowFacts& facts = (*rows)[index].facts;
      stats.AddIds(facts.length);
      stats.AddCounted(facts.chars, facts.bytes);
    } else {
      stats.AddIds(*ids);
    }
  }
}

Status CountPartition(std::shared_ptr<const ByteFile> file, ExportStats& stats) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionFileReader> reader,
                   PartitionFileReader::Open(std::move(file), {}));
  const std::vector<PartitionColumn>& columns = reader->columns();
  const auto place_of = [&](std::string_view name, PartitionColumnType type) -> std::optional<std::size_t> {
    const auto found = std::find(columns.begin(), columns.end(), PartitionColumn{std::string(name), type});
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
  };
  const std::optional<std::size_t> text = place_of("text", PartitionColumnType::kUtf8);
  const std::optional<std::size_t> ids = place_of("ids", PartitionColumnType::kU32List);
  if (!text && !ids) return NoText("the partition");
  PartitionRows rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, reader->Next(rows));
    if (!more) return {};
    for (const PartitionHead& head : rows.heads) stats.AddDocumentOf(reader->facts().input, head.document);
    for (std::size_t row = 0; row < rows.heads.size(); ++row) {
      const auto ends = [&](const PartitionRows::Column& column) {
        return std::pair<std::size_t, std::size_t>(row == 0 ? 0 : column.ends[row - 1], column.ends[row]);
      };
      if (text) {
        const auto [begin, end] = ends(rows.columns[*text]);
        stats.AddText(std::string_view(rows.columns[*text].bytes).substr(begin, end - begin));
      }
      if (ids) {
        const auto [begin, end] = ends(rows.columns[*ids]);
        stats.AddIds(end - begin);
      }
    }
  }
}

Status CountStream(const ByteFile& file, const CatObject& object, ExportStats& stats) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, file.Open(0, {}));
  TfRecordReader reader(*input, kMaxRecordBytes);
  std::uint64_t ids = 0;
  for (;;) {
    const std::uint64_t offset = reader.offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, reader.Next());
    if (!bytes) break;
    const Result<std::uint32_t> id = ParseTfdataElement(*bytes);
    if (!id.ok()) return Status(id.status()).Annotate(StrCat("element at offset ", offset));
    ++ids;
    if (object.end_id && *id == *object.end_id) stats.AddIds(std::exchange(ids, 0));
  }
  if (ids > 0) stats.AddIds(ids);
  return {};
}

/// The texts of a line of JSON Lines, whole or in a list, one behind the other.
Result<std::string> TextOfRow(std::string_view line) {
  ASSIGN_OR_RETURN(const Json row, Json::Parse(line));
  if (!row.is_object()) return NoText("it");
  std::string text;
  bool any = false;
  for (const auto& [name, value] : row.AsObject()) {
    any = any || value.is_string();
    text += value.AsString();
    for (const Json& part : value.AsArray()) {
      any = any || part.is_string();
      text += part.AsString();
    }
  }
  if (!any) return NoText("it");
  return text;
}

/// Calls `take` with each line, without its end.
Status ForEachLine(ByteReader& reader, const std::function<Status(std::string_view)>& take) {
  std::string piece(kPieceBytes, '\0'), line;
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(piece));
    if (got == 0) return line.empty() ? Status() : take(line);
    for (std::string_view rest(piece.data(), got); !rest.empty();) {
      const std::size_t end = rest.find('\n');
      line.append(rest.substr(0, end));
      if (line.size() > kMaxLine)
        return Status(Code::kInvalidArgument,
                      StrCat("a line is longer than ", HumanBytes(kMaxLine), ": this is no text of lines"));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      RETURN_IF_ERROR(take(line));
      line.clear();
    }
  }
}

/// JSON Lines by the name; else lines, where a blank one ends a document.
Status CountText(const ByteFile& file, const CatObject& object, ExportStats& stats) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*input, kMagicBytes));
  const std::string_view name = std::string_view(object.path).substr(object.path.rfind('/') + 1);
  ASSIGN_OR_RETURN(const Compression compression, DetectCompression(front, name));
  ASSIGN_OR_RETURN(input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, NewDecoder(compression, std::move(input)));
  const bool is_json = name.find(".json") != std::string_view::npos;
  std::uint64_t number = 0, documents = 0;
  bool inside = false;
  RETURN_IF_ERROR(ForEachLine(*reader, [&](std::string_view line) -> Status {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool blank = line.find_first_not_of(" \t") == std::string_view::npos;
    if (blank) {
      inside = false;
      return {};
    }
    if (!inside && !is_json) ++documents;
    inside = true;
    if (is_json) {
      Result<std::string> text = TextOfRow(line);
      if (!text.ok()) return std::move(text).status().Annotate(StrCat("line ", number));
      stats.AddText(*text);
    } else if (IsCleanUtf8(line)) {
      stats.AddText(line);
    } else {
      return Status(Code::kInvalidArgument,
                    StrCat("line ", number, " is not UTF-8; name what a stage made of it"));
    }
    return {};
  }));
  if (!is_json) stats.AddDocuments(documents);
  return {};
}

Status Count(std::shared_ptr<const ByteFile> file, const CatObject& object, ExportStats& stats) {
  switch (object.kind) {
    case ObjectKind::kShard: return CountShard(*file, object, stats);
    case ObjectKind::kPartition: return CountPartition(std::move(file), stats);
    case ObjectKind::kTokenIds: return CountStream(*file, object, stats);
    case ObjectKind::kText: return CountText(*file, object, stats);
    case ObjectKind::kSpill:
    case ObjectKind::kQuarantine:
    case ObjectKind::kRunLog:
    case ObjectKind::kTokenizer: break;
  }
  return NoText("it");
}

}  // namespace

Status CountObject(const CatObject& object, ExportStats& stats) {
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  return Count(std::move(file).value(), object, stats).Annotate(object.path);
}

}  // namespace pipeline
