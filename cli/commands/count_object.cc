#include "cli/commands/count_object.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/partition_file.h"

namespace pipeline {

namespace {

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

}  // namespace

Status CountObject(const CatObject& object, ExportStats& stats) {
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  return Count(std::move(file).value(), object, stats).Annotate(object.path);
}

}  // namespace pipeline
