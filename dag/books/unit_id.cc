#include "dag/books/unit_id.h"

#include <algorithm>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr int kInputDigits = 4;
constexpr int kShardDigits = 5;

std::optional<ShardId> ParseShard(std::string_view text) {
  const std::size_t dot = text.rfind(".s");
  const std::size_t of = text.rfind("-of-");
  if (dot == std::string_view::npos || of == std::string_view::npos || of < dot) return std::nullopt;
  const auto number = ParseNumber<std::uint32_t>(text.substr(dot + 2, of - dot - 2));
  const auto count = ParseNumber<std::uint32_t>(text.substr(of + 4));
  if (!number || !count) return std::nullopt;
  return ShardId{std::string(text.substr(0, dot)), *number, *count};
}

struct PartToString {
  std::string operator()(PartitionId id) const { return PartitionName(id); }
  std::string operator()(StreamId id) const { return ZeroPadded(id.input, kInputDigits) + "-*"; }
  std::string operator()(JobId) const { return "-"; }
  std::string operator()(const ShardId& id) const {
    return StrCat(id.split, ".s", ZeroPadded(id.number, kShardDigits), "-of-",
                  ZeroPadded(id.count, kShardDigits));
  }
};

std::optional<UnitId> ParseLoosely(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  UnitId unit{std::string(text.substr(0, slash)), JobId{}};
  const std::string_view part = text.substr(slash + 1);
  if (part == "-") return unit;
  if (const auto partition = ParsePartitionName(part)) {
    unit.part = *partition;
  } else if (const auto input = ParseNumber<std::uint32_t>(part.substr(0, part.find('-')));
             input && part.back() == '*') {
    unit.part = StreamId{*input};
  } else if (auto shard = ParseShard(part)) {
    unit.part = std::move(*shard);
  } else {
    return std::nullopt;
  }
  return unit;
}

}  // namespace

std::string ToString(const UnitId& unit) {
  return StrCat(unit.stage, '/', std::visit(PartToString(), unit.part));
}

std::optional<UnitId> ParseUnitId(std::string_view text) {
  std::optional<UnitId> unit = ParseLoosely(text);
  if (unit && ToString(*unit) != text) return std::nullopt;
  return unit;
}

std::string WithUnit(std::string_view why, std::string_view unit) {
  return unit.empty() ? std::string(why) : StrCat(why, " (unit ", unit, ")");
}

std::vector<std::string> LinesByReason(
    const std::vector<std::pair<std::string_view, std::string_view>>& failures) {
  std::vector<std::pair<std::string_view, std::string>> units_of;
  for (const auto& [why, unit] : failures) {
    const auto same = std::find_if(units_of.begin(), units_of.end(),
                                   [why = why](const auto& one) { return one.first == why; });
    if (same == units_of.end())
      units_of.emplace_back(why, unit);
    else
      same->second += StrCat(", ", unit);
  }
  std::vector<std::string> lines;
  for (const auto& [why, units] : units_of) lines.push_back(WithUnit(why, units));
  return lines;
}

}  // namespace pipeline
