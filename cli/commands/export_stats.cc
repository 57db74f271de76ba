#include "cli/commands/export_stats.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kBarWidth = 40;

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
                    Percent(count, total), Bar(count, largest), "\n");
  return table;
}

/// "characters in a record: 4 to 9, mean 5.5; …", and a row for each octave.
std::string Lengths(std::string_view what, const Histogram& lengths) {
  char mean[32];
  std::snprintf(mean, sizeof mean, "%.1f", lengths.mean());
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (const Histogram::Range& range : lengths.Octaves())
    rows.emplace_back(range.low == range.high ? StrCat(range.low) : StrCat(range.low, " - ", range.high),
                      range.count);
  return StrCat("\n", what, " in a record: ", lengths.min(), " to ", Grouped(lengths.max()), ", mean ", mean,
                "; 5 % have at most ", Grouped(lengths.Quantile(0.05)), ", half ",
                Grouped(lengths.Quantile(0.5)), ", 95 % ", Grouped(lengths.Quantile(0.95)), ", 99 % ",
                Grouped(lengths.Quantile(0.99)), "\n", Table(rows));
}

std::string Classes(const ClassCounts& classes) {
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

}  // namespace

std::string ExportStats::ToText() const {
  const bool has_texts = texts_.characters().count() > 0 || ids_.count() == 0;
  const std::uint64_t characters = texts_.characters().sum() + counted_characters_;
  const std::uint64_t bytes = texts_.bytes() + counted_bytes_;
  std::string text = StrCat(Grouped(records()), records() == 1 ? " record" : " records");
  if (documents_) text += StrCat(" of ", Grouped(*documents_), *documents_ == 1 ? " document" : " documents");
  if (ids_.count() > 0) text += StrCat(", ", Grouped(ids_.sum()), ids_.sum() == 1 ? " id" : " ids");
  if (has_texts || characters > 0)
    text += StrCat(", ", Grouped(characters), " characters, ", Grouped(bytes), " bytes (", HumanBytes(bytes),
                   ")");
  text += "\n";
  if (ids_.count() > 0) text += Lengths("ids", ids_);
  if (has_texts) text += StrCat(Lengths("characters", texts_.characters()), Classes(texts_.classes()));
  return text;
}

Json ExportStats::ToJson() const {
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

}  // namespace pipeline
