// packed.json: what packed rows are, and their totals. Format: formats/packed.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/packed.h"
#include "stages/tokenizer_facts.h"

namespace pipeline {

struct PackedTotals {
  std::uint64_t rows = 0;
  std::uint64_t tokens = 0;  // the sum of lengths; each row has one target fewer
  std::uint64_t bytes = 0;   // of the text under targets
  std::uint64_t chars = 0;
  PackedTotals& operator+=(const PackedTotals& other);
  bool operator==(const PackedTotals&) const = default;
};

struct PackedShard {
  std::string object;
  std::string index;
  PackedTotals totals;
  bool operator==(const PackedShard&) const = default;
};

struct PackedSplit {
  std::string name;
  std::uint64_t left_out = 0;  // rows in no shard and no total
  std::vector<PackedShard> shards;
  PackedTotals totals() const;
  bool operator==(const PackedSplit&) const = default;
};

inline constexpr std::uint32_t kMaxSeqLen = 1 << 20;

/// Keys of the stage, as they are written.
inline constexpr std::string_view kStreamPacking = "stream";
inline constexpr std::string_view kBestFitPacking = "best_fit";

struct PackedInfo {
  std::uint32_t seq_len = 0;
  std::uint32_t fill_id = 0;
  TokenizerFacts tokenizer;
  std::vector<PackedSplit> splits;  // by name
  PackedEncoding encoding = PackedEncoding::kExample;
  bool best_fit = false;
  bool segments = false;
  /// As NumPy calls the type of the ids.
  std::string_view dtype() const;
  /// The share of the ids of `totals` that fill rows; 0 where there are none.
  double padding(const PackedTotals& totals) const;
  bool operator==(const PackedInfo&) const = default;
};

/// The bytes of packed.json; it has the splits by name.
std::string PackedInfoJson(const PackedInfo& info);

/// kFailedPrecondition for a newer version; kDataLoss naming the member that is missing, wrong, or not the
/// sum that it must be.
Result<PackedInfo> ParsePackedInfo(std::string_view text);

}  // namespace pipeline
