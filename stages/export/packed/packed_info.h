// packed.json: describes packed rows, or documents of ids, and their totals. Format:
// stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stages/export/packed/packed.h"
#include "stages/export/packed/packed_labels.h"
#include "stages/export/packed/row_packer.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

/// The newest version of packed.json, of rows of a vocab.txt; all older ones are written and read, too.
inline constexpr std::uint32_t kNewestPacked = 5;

struct PackedTotals {
  std::uint64_t rows = 0;    // or documents
  std::uint64_t tokens = 0;  // the sum of lengths; a row has one target fewer than tokens
  std::uint64_t bytes = 0;   // of the text of the targets; with weights, of the scored targets
  std::uint64_t chars = 0;
  std::uint64_t scored = 0;  // targets that the loss counts; 0 without weights
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
  std::uint64_t left_out = 0;  // rows that are in no shard and no total
  std::vector<PackedShard> shards;
  PackedTotals totals() const;
  bool operator==(const PackedSplit&) const = default;
};

inline constexpr std::uint32_t kMaxSeqLen = 1 << 20;

/// How documents become rows; kDocuments: each is a sequence of its own, and there are no rows.
enum class Packing : std::uint8_t { kStream, kBestFit, kDocuments };

/// Values of the key `packing`.
inline constexpr std::string_view kStreamPacking = "stream";
inline constexpr std::string_view kBestFitPacking = "best_fit";
inline constexpr std::string_view kDocumentsPacking = "documents";
/// Converts from and to such a value. Absent: unknown name.
std::string_view PackingName(Packing packing);
std::optional<Packing> PackingOf(std::string_view name);

/// The facts of a tokenizer as rows have them: the name of its file beside them, and with a vocab.txt, which
/// has no eos, [SEP] as eos.
TokenizerFacts PackedTokenizer(TokenizerFacts facts);

struct PackedInfo {
  std::uint32_t seq_len = 0;  // 0: there are no rows
  std::uint32_t fill_id = 0;
  TokenizerFacts tokenizer;         // PackedTokenizer
  std::vector<PackedSplit> splits;  // by name
  PackedEncoding encoding = PackedEncoding::kExample;
  Packing packing = Packing::kStream;
  bool segments = false;
  bool weights = false;  // each row has a weight for each id
  /// By number. Each document ends with one of them, and nothing else is scored; empty: rows as `weights`
  /// says.
  std::vector<PackedLabel> labels = {};
  bool number_labels = false;  // each document ends with a number instead, and nothing else is scored
  bool labelled() const { return !labels.empty() || number_labels; }
  bool best_fit() const { return packing == Packing::kBestFit; }
  bool documents() const { return packing == Packing::kDocuments; }
  /// The rules of its rows or documents. `has_labels`: documents have labels, known or not.
  RowRules rules(bool has_labels) const;
  /// The NumPy name of the ids' type.
  std::string_view dtype() const;
  /// The share of padding among the ids of `totals`; 0 if there are no ids.
  double padding(const PackedTotals& totals) const;
  bool operator==(const PackedInfo&) const = default;
};

/// Formats packed.json, with the splits by name.
std::string PackedInfoJson(const PackedInfo& info);

/// kFailedPrecondition for a newer version; kDataLoss names the member that is missing, wrong, or not the
/// expected sum.
Result<PackedInfo> ParsePackedInfo(std::string_view text);

}  // namespace pipeline
