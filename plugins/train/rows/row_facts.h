// The facts of the rows of an artifact at `data`: packed.json of write_packed, or bert.json and the manifest
// of write_bert. CONTRACT.md, section 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "plugins/train/object_files.h"

namespace pipeline {

inline constexpr std::string_view kRowsInfo = "packed.json";
inline constexpr std::string_view kPairsInfo = "bert.json";
inline constexpr std::string_view kRowsMaker = "write_packed";  // types of stages
inline constexpr std::string_view kPairsMaker = "write_bert";

/// The most bytes of a packed.json or of a manifest: a data set of 100,000 shards has 20 MiB.
inline constexpr std::uint64_t kMostPacked = 256 << 20;

struct RowFacts {
  std::string_view maker;  // kRowsMaker or kPairsMaker
  std::string uri;         // of packed.json or bert.json
  Json facts;              // packed.json; of pairs its members seq_len, tokenizer, and rows of each split
};

/// Reads the facts of the artifact at `place`; its files tell which stage made it. kNotFound: neither stage
/// did; kDataLoss: a file is damaged.
Result<RowFacts> ReadRowFacts(const std::string& place, const std::string& manifest, const ReadWhole& read);

}  // namespace pipeline
