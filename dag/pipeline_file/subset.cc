#include "dag/pipeline_file/subset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/digest.h"
#include "base/str.h"
#include "base/words.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

constexpr std::string_view kKey = "subset";
constexpr std::uint64_t kSeed = 0x7375627365740001;

bool HasKey(const StageType& type) {
  return std::any_of(type.keys.begin(), type.keys.end(),
                     [](const ConfigKey& key) { return key.name == kKey; });
}

/// Absent: `text` is not made of digits with at most one point.
std::optional<double> ParseDecimal(std::string_view text) {
  const bool has_digits = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return has_digits ? ParseNumber<double>(text) : std::nullopt;
}

}  // namespace

std::uint64_t Subset::Hash(std::uint64_t document_key) {
  std::array<char, 8> bytes{};  // little endian on every machine
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(document_key >> (8 * i));
  return Hash64({bytes.data(), bytes.size()}, kSeed);
}

Result<Subset> ParseSubset(std::string_view text) {
  Subset subset;
  if (text.ends_with('%')) {
    const auto percent = ParseDecimal(text.substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) {
      const double end = std::ldexp(*percent / 100, 64);
      if (end < std::ldexp(1.0, 64)) subset.last_hash = static_cast<std::uint64_t>(end);
      return subset;
    }
  } else {
    subset.documents = ParseNumber<std::uint64_t>(text).value_or(0);
    if (subset.documents > 0) return subset;
  }
  return Status(Code::kInvalidArgument,
                StrCat("subset: '", text, "' is neither a number of documents, such as 5000, nor a part ",
                       "of them from above 0% to 100%, such as 1%"));
}

Result<Subset> SubsetOf(const Json& config) {
  return config.Has(kKey) ? ParseSubset(config[kKey].AsString()) : Result<Subset>(Subset());
}

std::string SubsetLocation(std::string_view text) { return StrCat("subset-", text); }

Status ApplySubset(std::string_view text, PipelineSpec& spec) {
  RETURN_IF_ERROR(ParseSubset(text).status());
  for (StageSpec& stage : spec.stages) {
    if (HasKey(*stage.type))
      stage.config[kKey] = text;
    else if (stage.type->source() != nullptr)
      return Status(Code::kInvalidArgument, StrCat("--subset: stage '", stage.name, "' (", stage.type->name,
                                                   ") can only be read as a whole"));
    if (stage.out.empty()) continue;
    stage.out += StrCat(stage.out.ends_with('/') ? "" : "/", SubsetLocation(text));
    // Only in a file: URL a percent sign has a meaning, so it is escaped there.
    if (stage.out.starts_with("file:") && text.ends_with('%')) stage.out += "25";
  }
  return {};
}

}  // namespace pipeline
