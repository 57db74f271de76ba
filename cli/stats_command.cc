#include "cli/stats_command.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/cat_target.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "formats/partition_file.h"
#include "formats/tf_example.h"
#include "formats/tfds.h"
#include "formats/tfrecord.h"
#include "text/text_stats.h"
#include "text/unicode.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;
constexpr std::size_t kBarWidth = 40;

// ---------------------------------------------------------------------------------------- reading

Status NoText(std::string_view what) {
  return Status(Code::kInvalidArgument, StrCat(what, " has no text to count; `pipe cat` shows what it has"));
}

Status AddShard(const ByteFile& file, TextStats& stats) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> input, file.Open(0, {}));
  TfRecordReader reader(*input, kMaxRecordBytes);
  while (true) {
    const std::string where = StrCat("record at offset ", reader.offset());
    ASSIGN_OR_RETURN(const std::optional<std::string_view> bytes, reader.Next());
    if (!bytes) return {};
    Result<TfExample> example = ParseTfExample(*bytes);
    if (!example.ok()) return std::move(example).status().Annotate(where);
    const auto feature = example->find(kTfdsTextFeature);
    const auto* const texts =
        feature == example->end() ? nullptr : std::get_if<TfBytesList>(&feature->second);
    if (texts == nullptr || texts->size() != 1) return NoText(where);
    stats.Add(texts->front());
  }
}

Status AddPartition(std::shared_ptr<const ByteFile> file, TextStats& stats) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionFileReader> reader,
                   PartitionFileReader::Open(std::move(file), {}));
  const std::vector<PartitionColumn>& columns = reader->columns();
  const auto text =
      std::find(columns.begin(), columns.end(), PartitionColumn{"text", PartitionColumnType::kUtf8});
  if (text == columns.end()) return NoText("the partition");
  PartitionRows rows;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader->Next(rows));
    if (!more) return {};
    const PartitionRows::Column& column = rows.columns[static_cast<std::size_t>(text - columns.begin())];
    std::size_t begin = 0;
    for (const std::uint32_t end : column.ends) {
      stats.Add(std::string_view(column.bytes).substr(begin, end - begin));
      begin = end;
    }
  }
}

Status AddObject(const CatObject& object, TextStats& stats) {
  if (object.kind == ObjectKind::kText)
    return Status(
        Code::kInvalidArgument,
        StrCat(object.path, ": not an object of this program: it is text; name what a stage made of it"));
  if (object.kind != ObjectKind::kShard && object.kind != ObjectKind::kPartition)
    return NoText("it").Annotate(object.path);
  Result<std::unique_ptr<ByteFile>> file = object.open();
  if (!file.ok()) return std::move(file).status().Annotate(object.path);
  const Status status = object.kind == ObjectKind::kShard ? AddShard(**file, stats)
                                                          : AddPartition(std::move(file).value(), stats);
  return Status(status).Annotate(object.path);
}

// --------------------------------------------------------------------------------------- printing

/// 1234567 as "1,234,567".
std::string Grouped(std::uint64_t number) {
  std::string digits = StrCat(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string Right(std::string text, std::size_t width) {
  return text.size() < width ? text.insert(0, width - text.size(), ' ') : text;
}

/// "  12.3 %"
std::string Percent(std::uint64_t part, std::uint64_t total) {
  char text[32];
  std::snprintf(text, sizeof text, "%6.2f %%",
                total == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(total));
  return text;
}

std::string Bar(std::uint64_t part, std::uint64_t largest) {
  if (part == 0) return "";
  return StrCat("  ", std::string(std::max<std::uint64_t>(1, part * kBarWidth / largest), '#'));
}

/// One row for each name: how many, which part of all, and a bar.
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
                    Percent(count, total), Bar(count, largest), "\n");
  return table;
}

std::string ToText(const TextStats& stats) {
  const Histogram& lengths = stats.characters();
  char mean[32];
  std::snprintf(mean, sizeof mean, "%.1f", lengths.mean());
  std::string text = StrCat(
      Grouped(lengths.count()), " records, ", Grouped(lengths.sum()), " characters, ", Grouped(stats.bytes()),
      " bytes (", HumanBytes(stats.bytes()), ")\n\ncharacters in a record: ", lengths.min(), " to ",
      Grouped(lengths.max()), ", mean ", mean, "; 5 % have at most ", Grouped(lengths.Quantile(0.05)),
      ", half ", Grouped(lengths.Quantile(0.5)), ", 95 % ", Grouped(lengths.Quantile(0.95)), ", 99 % ",
      Grouped(lengths.Quantile(0.99)), "\n");
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (const Histogram::Range& range : lengths.Octaves())
    rows.emplace_back(range.low == range.high ? StrCat(range.low) : StrCat(range.low, " - ", range.high),
                      range.count);
  text += Table(rows);
  rows.clear();
  for (std::size_t i = 1; i < kCharacterClasses; ++i) {
    const auto character_class = static_cast<CharacterClass>(i);
    rows.emplace_back(NameOf(character_class), stats.classes()[character_class]);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  text += StrCat("\ncharacters by class, without white space and marks (",
                 Grouped(stats.classes()[CharacterClass::kNone]), "):\n", Table(rows));
  return text;
}

}  // namespace

int StatsCommand(const Options& options) {
  signal(SIGPIPE, SIG_IGN);  // `| head` is an error of write, not the end
  const Result<std::vector<CatObject>> objects = FindCatObjects(options.target);
  if (!objects.ok()) {
    LogError(objects.status().message());
    return objects.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
  }
  const CharacterClasses classes = UnicodeClasses();
  TextStats stats(classes);
  for (const CatObject& object : *objects) {
    const Status status = AddObject(object, stats);
    if (status.ok()) continue;
    LogError(status.message());  // a part of the numbers would pass for the whole
    return status.code() == Code::kInvalidArgument ? kExitRefused : kExitFailed;
  }
  Output out(STDOUT_FILENO);
  out.Write(options.json ? StrCat(stats.ToJson().Dump(), "\n") : ToText(stats));
  const Status written = out.Finish();
  if (!written.ok()) LogError(written.message());
  return written.ok() ? kExitDone : kExitFailed;
}

}  // namespace pipeline
