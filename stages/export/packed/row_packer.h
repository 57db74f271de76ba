// Packs lines of token ids into rows, with weights that say which ids a loss counts, or into documents.
// Definition of both: stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/stage_context.h"
#include "stages/export/packed/packed.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

/// Weighs the ids of one split of one partition, in the order of the corpus. One thread at a time.
class TargetWeights {
 public:
  virtual ~TargetWeights() = default;
  /// Appends a weight for each of the ids of the next line, without that of its end: true, if the id is a
  /// scored target.
  virtual void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) = 0;
  /// The weight of the id that ends this line, and its document if `of_document`.
  virtual bool WeighEnd(bool of_document) = 0;
};

/// How a configuration weighs targets.
struct WeightRule {
  /// Any thread may call it. Null: rows have no weights.
  std::function<std::unique_ptr<TargetWeights>()> open = {};
  /// Why a split may have no scored target, and the remedy: the end of a message.
  std::string nothing_scored = {};
};

using ChooseWeights =
    std::function<Result<WeightRule>(const StageContext& context, const TokenizerFacts& facts)>;

/// The rules for making rows; those of documents are eos_id and line_end alone.
struct RowRules {
  std::uint32_t seq_len = 0;
  std::uint32_t eos_id = 0;  // ends a document
  std::uint32_t fill_id = 0;
  // Absent: there is no such id.
  std::optional<std::uint32_t> line_end;    // between two lines of a document
  std::optional<std::uint32_t> begin = {};  // before the first id of a document
  std::optional<std::uint32_t> before_label = {};
};

/// Called for each row with its seq_len + 1 ids, the positions at which segments begin, ascending, without
/// the first, and the weights of the ids; empty: there are none. The arguments are valid during the call.
using TakeRow =
    std::function<Status(std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                         std::span<const std::uint32_t> segments, std::span<const std::uint32_t> weights)>;

/// Packs one split of one partition. One thread at a time.
class RowPacker {
 public:
  /// `weights` null: rows have none, and each target is scored.
  RowPacker(const RowRules& rules, std::unique_ptr<TargetWeights> weights)
      : rules_(rules), weights_(std::move(weights)) {}
  virtual ~RowPacker() = default;

  /// Call with lines in order. `ends` is parallel to `ids`: the ascending byte offset at which each id ends
  /// in `text`. kInternal if the three are inconsistent.
  Status Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends, std::string_view text,
             std::uint64_t document);
  /// The last call.
  Status Finish();

  /// Scored targets so far, and ended documents without any; both 0 without weights.
  std::uint64_t scored() const { return scored_; }
  std::uint64_t unscored_documents() const { return unscored_documents_; }
  /// Documents so far that were left out, because they have no id of text; 0 if rows are made.
  virtual std::uint64_t empty_documents() const { return 0; }

 protected:
  const RowRules& rules() const { return rules_; }
  bool has_weights() const { return weights_ != nullptr; }

 private:
  /// Maximum number of ids for the next call of Take: at least one.
  virtual std::size_t Room() const = 0;
  /// Adds ids of the open line and their text. All of them are scored targets, or none.
  virtual Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool scored) = 0;
  /// Ends the open line, and its document if `of_document`. `id`: that of the end; absent: it has none.
  /// `scored`: this id is a scored target.
  virtual Status EndLine(std::optional<std::uint32_t> id, bool of_document, bool scored) = 0;
  /// Gives the remaining rows.
  virtual Status GiveRest() = 0;

  Status Close(bool of_document);
  /// Returns how many of the ids from `at` to `end` on have the weight of the first, and counts them.
  std::size_t CountAlike(std::size_t at, std::size_t end);

  const RowRules rules_;
  const std::unique_ptr<TargetWeights> weights_;
  std::vector<bool> of_line_;   // the weights of the ids of the last line
  bool in_line_ = false;        // the last line is not ended yet
  std::uint64_t document_ = 0;  // of the last line
  std::uint64_t scored_ = 0, unscored_documents_ = 0;
  std::uint64_t scored_before_ = 0;  // scored_ where the open document began
};

/// `packing: stream`; holds one row in memory.
std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row,
                                           std::unique_ptr<TargetWeights> weights = nullptr);

/// Adds `text` to the counts of a row. kResourceExhausted if a count is too large for an index.
Status CountText(std::string_view text, PackedRowFacts& facts);

/// `packing: best_fit`, best fit decreasing over the documents; holds all ids until Finish, which then gives
/// the rows.
std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row,
                                            std::unique_ptr<TargetWeights> weights = nullptr);

/// Ids of a document with its eos: their bytes stay below the 4 GiB of a batch.
inline constexpr std::uint32_t kMostDocumentIds = 1 << 29;

/// `packing: documents`: each document is a row of its own, all its ids and eos; holds one in memory. Uses no
/// weights.
std::unique_ptr<RowPacker> NewDocumentPacker(const RowRules& rules, TakeRow document);

/// Upper bound of the memory of NewBestFitPacker for this much text, and of NewDocumentPacker.
constexpr std::uint64_t BestFitMemory(std::uint64_t text_bytes, bool weights) {
  return (weights ? 6 : 5) * text_bytes;
}

}  // namespace pipeline
