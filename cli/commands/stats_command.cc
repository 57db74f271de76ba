#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/commands.h"
#include "cli/report/html.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/artifact_location.h"
#include "formats/partition_file.h"
#include "stages/verify/export_reader.h"
#include "text/text_stats.h"
#include "text/unicode.h"

namespace pipeline {

namespace {

constexpr std::size_t kBarWidth = 40;

std::string Right(std::string text, std::size_t width) {
  return text.size() < width ? text.insert(0, width - text.size(), ' ') : text;
}

/// "  12.30 %"
std::string PercentColumn(std::uint64_t part, std::uint64_t total) {
  const double percent = total == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(total);
  return StrCat(Right(Fixed(percent, 2), 6), " %");
}

std::string Bar(std::uint64_t part, std::uint64_t largest) {
  if (part == 0) return "";
  return StrCat("  ", std::string(std::max<std::uint64_t>(1, part * kBarWidth / largest), '#'));
}

/// Returns one row for each name: its count, its share and a bar.
std::string Table(const std::vector<std::pair<std::string, std::uint64_t>>& rows) {
  std::uint64_t total = 0;
  std::uint64_t largest = 0;
  std::size_t width = 0;
  for (const auto& [name, count] : rows) {
    total += count, largest = std::max(largest, count), width = std::max(width, name.size());
  }
  std::string table;
  for (const auto& [name, count] : rows)
    table += StrCat("  ", Right(name, width), Right(Grouped(count), Grouped(largest).size() + 2), " ",
                    PercentColumn(count, total), Bar(count, largest), "\n");
  return table;
}

/// "characters in a record: 4 to 9, mean 5.5; …", and a row for each octave.
std::string Lengths(std::string_view what, const Histogram& lengths) {
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (const Histogram::Range& range : lengths.Octaves())
    rows.emplace_back(range.low == range.high ? StrCat(range.low) : StrCat(range.low, " - ", range.high),
                      range.count);
  return StrCat("\n", what, " in a record: ", lengths.min(), " to ", Grouped(lengths.max()), ", mean ",
                Fixed(lengths.mean(), 1), "; 5 % have at most ", Grouped(lengths.Quantile(0.05)), ", half ",
                Grouped(lengths.Quantile(0.5)), ", 95 % ", Grouped(lengths.Quantile(0.95)), ", 99 % ",
                Grouped(lengths.Quantile(0.99)), "\n", Table(rows));
}

std::string ClassTable(const ClassCounts& classes) {
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (std::size_t i = 1; i < kCharacterClasses; ++i) {
    const auto character_class = static_cast<CharacterClass>(i);
    rows.emplace_back(NameOf(character_class), classes[character_class]);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return StrCat("\ncharacters by class, without white space and marks (",
                Grouped(classes[CharacterClass::kNone]), "):\n", Table(rows));
}

/// The statistics of an exported data set: records, documents, text lengths and characters, ids. One thread
/// at a time.
class ExportStats final : public RecordStatistics {
 public:
  /// `classes` outlives it.
  explicit ExportStats(const CharacterClasses& classes) : texts_(classes) {}

  void AddText(std::string_view text) override { texts_.Add(text); }
  void AddIds(std::uint64_t ids) override { ids_.Add(ids); }
  void AddCounted(std::uint64_t characters, std::uint64_t bytes) override {
    counted_characters_ += characters, counted_bytes_ += bytes;
  }
  void AddDocuments(std::uint64_t documents) override { documents_ = documents_.value_or(0) + documents; }
  /// Call for each record in order: a document may continue in the next partition of its input.
  void AddDocumentOf(std::uint32_t input, std::uint64_t document) {
    const std::pair<std::uint32_t, std::uint64_t> at(input, document);
    AddDocuments(std::exchange(last_document_, at) == at ? 0 : 1);
  }
  bool knows_documents() const { return documents_.has_value(); }

  std::uint64_t records() const { return std::max(texts_.characters().count(), ids_.count()); }

  /// For people: a heading, then lengths and character classes.
  std::string ToText() const {
    const bool has_texts = texts_.characters().count() > 0 || ids_.count() == 0;
    const std::uint64_t characters = texts_.characters().sum() + counted_characters_;
    const std::uint64_t bytes = texts_.bytes() + counted_bytes_;
    std::string text = GroupedCount(records(), "record");
    if (documents_) text += StrCat(" of ", GroupedCount(*documents_, "document"));
    if (ids_.count() > 0) text += StrCat(", ", GroupedCount(ids_.sum(), "id"));
    if (has_texts || characters > 0)
      text += StrCat(", ", Grouped(characters), " characters, ", Grouped(bytes), " bytes (",
                     HumanBytes(bytes), ")");
    text += "\n";
    if (ids_.count() > 0) text += Lengths("ids", ids_);
    if (has_texts) text += StrCat(Lengths("characters", texts_.characters()), ClassTable(texts_.classes()));
    return text;
  }
  /// As TextStats::ToJson. Adds "documents" if known. With ids, adds "ids": {"sum", "min", "mean", "max",
  /// "quantiles", "histogram"}; then "characters" and "classes" exist only if there are texts, too;
  /// otherwise "characters" and "bytes" are numbers, if an index counted them.
  Json ToJson() const {
    const bool has_texts = texts_.characters().count() > 0 || ids_.count() == 0;
    Json json = has_texts ? texts_.ToJson() : Json(Json::Object{});
    json["records"] = records();
    if (documents_) json["documents"] = *documents_;
    if (ids_.count() > 0) json["ids"] = ids_.ToJson();
    if (!has_texts && counted_characters_ > 0) {
      json["characters"] = counted_characters_;
      json["bytes"] = counted_bytes_;
    }
    return json;
  }

 private:
  std::optional<std::uint64_t> documents_;  // absent: unknown
  std::optional<std::pair<std::uint32_t, std::uint64_t>> last_document_;
  TextStats texts_;
  Histogram ids_;
  std::uint64_t counted_characters_ = 0;
  std::uint64_t counted_bytes_ = 0;
};

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
  if (!text && !ids) return NothingToCount("the partition");
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

Status Count(std::shared_ptr<const ByteFile> file, const CatObject& object, ExportStats& stats) {
  switch (object.kind) {
    case ObjectKind::kShard:
    case ObjectKind::kText:
      return object.reader->Count({*file, object.name, object.split, object.shard}, stats);
    case ObjectKind::kPartition: return CountPartition(std::move(file), stats);
    case ObjectKind::kSpill:
    case ObjectKind::kQuarantine:
    case ObjectKind::kRunLog:
    case ObjectKind::kTokenizer: break;
  }
  return NothingToCount("it");
}

/// A record is the unit that a trainer reads: an example, a row, a line of JSON Lines, a line of text; for
/// a single stream of ids, a document or line if its end is known, else the whole stream. Documents are
/// counted if the object marks them: partitions, and text by its blank lines. kInvalidArgument if the
/// object is not of an exported data set, or has records without anything to count.
Status CountObject(const CatObject& object, ExportStats& stats) {
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  return Count(std::move(file).value(), object, stats).Annotate(object.path);
}

/// Adds the documents from the manifest of an artifact, because shards tell only records.
void AddDocumentsOf(const std::string& location, ExportStats& stats) {
  const Result<ArtifactLocation> opened = OpenArtifactLocation(location);
  if (!opened.ok()) return;
  const Result<Manifest> manifest = ReadManifestOf(*opened, {});
  if (!manifest.ok()) return;
  for (const auto& [name, split] : manifest->splits)
    if (split.documents > 0) stats.AddDocuments(split.documents);
}

/// Removes the tokenizer beside ids: a model, or a vocabulary as text.
std::vector<CatObject> Exports(std::vector<CatObject> objects) {
  const ObjectKind first = objects.front().kind;
  std::erase_if(objects, [first](const CatObject& object) {
    return object.kind != first &&
           (object.kind == ObjectKind::kTokenizer || object.kind == ObjectKind::kText);
  });
  return objects;
}

struct StatsOptions {
  std::string target;  // an artifact or one object
  bool json = false;
};

int PrintStats(const StatsOptions& options) {
  const Attendance attendance({});
  Result<std::vector<CatObject>> objects = FindCatObjects(options.target);
  if (!objects.ok()) {
    LogError(objects.status().message());
    return objects.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
  }
  const CharacterClasses classes = UnicodeClasses();
  ExportStats stats(classes);
  if (!objects->empty()) objects = Exports(std::move(objects).value());
  for (const CatObject& object : *objects) {
    const Status status = CountObject(object, stats);
    if (status.ok()) continue;
    LogError(status.message());  // a part of the numbers would look like the whole
    return status.code() == Code::kInvalidArgument ? kExitRefused : kExitFailed;
  }
  if (!stats.knows_documents()) AddDocumentsOf(options.target, stats);
  Output out(STDOUT_FILENO);
  out.Write(options.json ? StrCat(stats.ToJson().Dump(), "\n") : stats.ToText());
  return FinishOutput(out, kExitDone);
}

}  // namespace

Command StatsCommand() {
  const auto options = std::make_shared<StatsOptions>();
  return {
      .name = "stats",
      .help = "Say how many records, documents, characters and ids an artifact has, and how long they are",
      .words = {{.value = "WHAT",
                 .help =
                     "Directory of an artifact, one of its shards or partition files, or a file of text or "
                     "JSON Lines",
                 .required = true,
                 .to = &options->target},
                {.flags = {"--json"}, .help = "As JSON, with every count", .to = &options->json}},
      .run = [options](const Call&) { return PrintStats(*options); },
  };
}

}  // namespace pipeline
