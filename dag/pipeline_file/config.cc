#include "dag/pipeline_file/config.h"

#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/str.h"
#include "dag/pipeline_file/reading_rules.h"

namespace pipeline {

namespace {

struct Unit {
  std::string_view name;  // lower case
  std::uint64_t bytes;
};
constexpr std::array<Unit, 12> kUnits = {{
    {"", 1},
    {"b", 1},
    {"kb", 1000},
    {"mb", 1000'000},
    {"gb", 1000'000'000},
    {"tb", 1000'000'000'000},
    {"pb", 1000'000'000'000'000},
    {"kib", std::uint64_t{1} << 10},
    {"mib", std::uint64_t{1} << 20},
    {"gib", std::uint64_t{1} << 30},
    {"tib", std::uint64_t{1} << 40},
    {"pib", std::uint64_t{1} << 50},
}};
constexpr std::string_view kAccepted = "a size is a number with or without a unit: 4096, 64MiB, 1.5GB";

Status Refuse(std::string_view why) { return Status(Code::kInvalidArgument, StrCat(why, "; ", kAccepted)); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Json CanonicalConfig(const std::vector<ConfigKey>& keys, const Json& config) {
  Json canonical{Json::Object{}};
  for (const ConfigKey& key : keys) {
    if (key.effect != Effect::kBytes || !config.Has(key.name)) continue;
    const Json& value = config[key.name];
    // Such a key came after the recipes. `auto` means the behaviour without the key, so it changes no recipe.
    if (key.type == ValueType::kChoice && key.fallback == "~" && value.AsString() == "auto") continue;
    if (key.name == kRulesKey && value.AsString() == kFirstRules) continue;
    // The compression of spills changes no published byte.
    if (key.type == ValueType::kShuffle && value.is_object())
      canonical[key.name] = Json(Json::Object{{"seed", value["seed"]}});
    else
      canonical[key.name] = value;
  }
  return canonical;
}

std::string ContinueConfig(const std::vector<ConfigKey>& keys, const Json& config) {
  Json continues;
  for (const ConfigKey& key : keys)
    if (const Json& value = config[key.name]; key.effect == Effect::kContinue && !value.is_null())
      continues[key.name] = value;
  return continues.is_null() ? std::string() : continues.Dump();
}

Result<std::uint64_t> ParseBytes(std::string_view text) {
  if (!text.empty() && text.front() == '-') return Refuse("a size is never negative");
  // The whole part is an integer, because a double would lose bytes above 2^53; the fraction has a few
  // digits.
  std::uint64_t whole = 0;
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (whole > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return Refuse("too large");
    whole = whole * 10 + digit;
  }
  if (at == 0) return Refuse("not a size");
  double fraction = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t point = at++;
    double weight = 0.1;
    for (; at < text.size() && IsDigit(text[at]); ++at, weight /= 10) fraction += weight * (text[at] - '0');
    if (at == point + 1) return Refuse("digits are missing after the point");
  }
  while (at < text.size() && text[at] == ' ') ++at;
  std::string unit(text.substr(at));
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    if (known.bytes == 1 && fraction > 0) return Refuse("there are no parts of a byte");
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto part = static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(known.bytes)));
    if (whole > (kLargest - part) / known.bytes) return Refuse("too large");
    return whole * known.bytes + part;
  }
  return Refuse("not a size");
}

}  // namespace pipeline
