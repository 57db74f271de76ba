#include "stages/verify/example_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "formats/array_record.h"
#include "formats/compression.h"
#include "formats/tfrecord.h"
#include "stages/verify/export_reader.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kShardMark = ".tfrecord-";
constexpr std::array<std::string_view, 2> kSuffixes = {".tfrecord", ".array_record"};
constexpr std::string_view kTextFeature = "text";

bool HasSuffix(std::string_view name, std::span<const std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [name](std::string_view suffix) { return name.ends_with(suffix); });
}

Result<std::optional<TfExample>> ParseOptional(const std::optional<std::string_view>& record,
                                               std::uint64_t offset) {
  if (!record) return std::nullopt;
  Result<TfExample> example = ParseTfExample(*record);
  if (!example.ok()) return std::move(example).status().Annotate(StrCat("record at offset ", offset));
  return std::optional(std::move(example).value());
}

/// Returns the feature `text`, else all features that are text, one behind the other; absent: there is none.
std::optional<std::string> TextOf(const TfExample& example) {
  std::optional<std::string> text;
  const bool has_text = example.contains(kTextFeature);
  for (const auto& [name, feature] : example) {
    const auto* const values = std::get_if<TfBytesList>(&feature);
    if (values == nullptr || (has_text && name != kTextFeature)) continue;
    if (!text) text.emplace();
    for (const std::string_view value : *values) {
      if (!IsCleanUtf8(value)) return std::nullopt;
      text->append(value);
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> ExampleView::LineOf(std::uint64_t, const TfExample& example) const {
  if (example.size() != 1) return std::nullopt;
  const auto* const texts = std::get_if<TfBytesList>(&example.begin()->second);
  if (texts == nullptr || texts->size() != 1) return std::nullopt;
  return std::string(texts->front());
}

std::optional<SeenIds> ExampleView::IdsOf(std::uint64_t, const TfExample& example) const {
  std::optional<SeenIds> longest;
  for (const auto& [name, feature] : example)
    if (const auto* const numbers = std::get_if<TfInt64List>(&feature))
      longest = SeenIds{std::max<std::uint64_t>(longest ? longest->ids : 0, numbers->size())};
  return longest;
}

const TfInt64List* NumbersOf(const TfExample& example, std::string_view feature) {
  const auto found = example.find(feature);
  return found == example.end() ? nullptr : std::get_if<TfInt64List>(&found->second);
}

bool IsExampleFile(std::string_view front, std::string_view name) {
  return BeginsLikeTfRecord(front) || BeginsLikeArrayRecord(front) ||
         name.find(kShardMark) != std::string_view::npos || HasSuffix(name, kSuffixes);
}

ShardFile WithNumbersOfName(ShardFile shard, std::span<const std::string_view> suffixes) {
  if (!shard.split.empty() || shard.number) return shard;
  const std::string_view name = shard.name.substr(shard.name.rfind('/') + 1);
  const auto take = [&shard](std::string_view split, std::string_view digits) {
    std::uint32_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) return;
    shard.split = split;
    shard.number = number;
  };
  if (const std::size_t mark = name.find(kShardMark); mark != std::string_view::npos) {
    const std::string_view front = name.substr(0, mark);
    take(front.substr(front.rfind('-') + 1), name.substr(mark + kShardMark.size()));
    return shard;
  }
  const std::size_t of = name.rfind("-of-");
  const std::size_t dash = of == std::string_view::npos ? of : name.substr(0, of).rfind('-');
  if (dash != std::string_view::npos && HasSuffix(name, suffixes))
    take(name.substr(0, dash), name.substr(dash + 1, of - dash - 1));
  return shard;
}

Result<NextExample> OpenExamples(const ByteFile& file) {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file.Open(0, {}));
  ASSIGN_OR_RETURN(const std::string front, ReadFront(*input, kArrayRecordFront));
  if (BeginsLikeArrayRecord(front)) {
    ASSIGN_OR_RETURN(std::unique_ptr<ArrayRecordReader> opened, ArrayRecordReader::Open(file, {}));
    return NextExample([reader = std::shared_ptr<ArrayRecordReader>(
                            std::move(opened))]() -> Result<std::optional<TfExample>> {
      const std::uint64_t offset = reader->offset();
      ASSIGN_OR_RETURN(const std::optional<std::string_view> record, reader->Next());
      return ParseOptional(record, offset);
    });
  }
  ASSIGN_OR_RETURN(input, file.Open(0, {}));
  const std::shared_ptr<ByteReader> shared = std::move(input);
  return NextExample([shared, reader = std::make_shared<TfRecordReader>(
                                  *shared, kMaxRecordBytes)]() -> Result<std::optional<TfExample>> {
    const std::uint64_t offset = reader->offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, reader->Next());
    return ParseOptional(record, offset);
  });
}

void PrintExample(const TfExample& example, std::uint64_t index, const ExampleView& view,
                  const RecordOrigin& origin, RecordOutput& output) {
  if (!output.json()) {
    const std::optional<std::string> line = view.LineOf(index, example);
    return output.Line(line ? *line : ToJson(example).Dump());
  }
  Json record = origin();
  view.AddMembers(index, record);
  record["features"] = ToJson(example);
  output.Object(record);
}

Status PrintExamples(const ShardFile& shard, const NextExample& next, const ExampleView& view,
                     RecordOutput& output) {
  for (std::uint64_t index = 0; !output.done(); ++index) {
    ASSIGN_OR_RETURN(const std::optional<TfExample> example, next());
    if (!example) return {};
    const auto origin = [&] {
      Json json;
      if (!shard.split.empty()) json["split"] = shard.split;
      if (shard.number) json["shard"] = *shard.number;
      json["index"] = index;
      return json;
    };
    PrintExample(*example, index, view, origin, output);
  }
  return {};
}

Status CountExamples(const NextExample& next, const ExampleView& view, RecordStatistics& statistics) {
  std::optional<bool> has_texts;
  for (std::uint64_t index = 0;; ++index) {
    ASSIGN_OR_RETURN(const std::optional<TfExample> example, next());
    if (!example) return {};
    const std::optional<std::string> text = TextOf(*example);
    const std::optional<SeenIds> ids = text ? std::nullopt : view.IdsOf(index, *example);
    if (has_texts.value_or(text.has_value()) != text.has_value() || (!text && !ids))
      return NothingToCount(StrCat("record ", index, " (from 0)"));
    has_texts = text.has_value();
    if (text) {
      statistics.AddText(*text);
    } else {
      statistics.AddIds(ids->ids);
      statistics.AddCounted(ids->characters, ids->bytes);
    }
  }
}

Status ExampleReader::Print(const ShardFile& shard, RecordOutput& output) const {
  ASSIGN_OR_RETURN(const NextExample next, OpenExamples(shard.bytes));
  return PrintExamples(WithNumbersOfName(shard, kSuffixes), next, *view_, output);
}

Status ExampleReader::Count(const ShardFile& shard, RecordStatistics& statistics) const {
  ASSIGN_OR_RETURN(const NextExample next, OpenExamples(shard.bytes));
  return CountExamples(next, *view_, statistics);
}

}  // namespace pipeline
