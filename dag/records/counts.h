// Counts of a stage over the records that passed through it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pipeline {

/// The size of what a reason counts.
struct ReasonSize {
  std::uint64_t bytes = 0;       // of the records; of the bad bytes alone if the rest of the record went on
  std::uint64_t more_lines = 0;  // that a wrong quote took in, beyond one for each record
  bool operator==(const ReasonSize&) const = default;
};

/// Additive: the counts of a partition are sums over its batches, those of an artifact sums over its
/// partitions. A record may count under several reasons.
struct StageCounts {
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;
  std::uint64_t bytes_in = 0;  // of column `text`; 0: the stage reads no text
  std::uint64_t bytes_out = 0;
  /// Number of records that were dropped, altered or set aside, by reason in snake_case, e.g.
  /// "dropped_empty", "invalid_utf8". A reason that begins with "dropped_" means that the record is gone.
  std::map<std::string, std::uint64_t, std::less<>> reasons;
  /// By reason, of those whose bytes are counted too. Earlier versions did not count them.
  std::map<std::string, ReasonSize, std::less<>> sizes = {};

  void AddSize(std::string_view reason, const ReasonSize& size) {
    if (size == ReasonSize()) return;
    ReasonSize& sum = sizes.try_emplace(std::string(reason)).first->second;
    sum.bytes += size.bytes;
    sum.more_lines += size.more_lines;
  }
  void Add(std::string_view reason, std::uint64_t by = 1) {
    const auto found = reasons.find(reason);
    if (found != reasons.end())
      found->second += by;
    else
      reasons.emplace(reason, by);
  }
  StageCounts& operator+=(const StageCounts& other) {
    records_in += other.records_in;
    records_out += other.records_out;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    for (const auto& [reason, count] : other.reasons) Add(reason, count);
    for (const auto& [reason, size] : other.sizes) AddSize(reason, size);
    return *this;
  }
  bool operator==(const StageCounts&) const = default;
};

/// Sums over a whole artifact, for checks before its manifest.
struct ArtifactTotals {
  struct Split {
    std::uint64_t records = 0;
    std::uint64_t documents = 0;
    std::uint64_t bytes = 0;  // of the payload; of the text if the Sink has no encoder
    bool operator==(const Split&) const = default;
  };
  std::map<std::string, Split, std::less<>> splits;
  StageCounts counts;  // of the stage that checks
};

}  // namespace pipeline
