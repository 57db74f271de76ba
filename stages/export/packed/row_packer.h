// Packs lines of token ids into rows. Definition of a row: stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stages/export/packed/packed.h"

namespace pipeline {

/// The rules for making rows.
struct RowRules {
  std::uint32_t seq_len = 0;
  std::uint32_t eos_id = 0;
  std::uint32_t fill_id = 0;
  std::optional<std::uint32_t> newline_id;  // absent: eos ends each line
};

/// Called for each row with its seq_len + 1 ids and the positions at which segments begin, ascending,
/// without the first. The arguments are valid during the call.
using TakeRow = std::function<Status(std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                                     std::span<const std::uint32_t> segments)>;

/// Packs one split of one partition. One thread at a time.
class RowPacker {
 public:
  virtual ~RowPacker() = default;

  /// Call with lines in order. `ends` is parallel to `ids`: the ascending byte offset at which each id ends
  /// in `text`. kInternal if the three are inconsistent.
  Status Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends, std::string_view text,
             std::uint64_t document);
  /// The last call.
  Status Finish();

 private:
  /// Maximum number of ids for the next call of Take: at least one.
  virtual std::size_t Room() const = 0;
  /// Adds ids of the open line and their text.
  virtual Status Take(std::span<const std::uint32_t> ids, std::string_view text) = 0;
  /// Ends the open line, and its document if `of_document`.
  virtual Status EndLine(bool of_document) = 0;
  /// Gives the remaining rows.
  virtual Status GiveRest() = 0;

  bool in_line_ = false;        // the last line is not ended yet
  std::uint64_t document_ = 0;  // of the last line
};

/// `packing: stream`; holds one row in memory.
std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row);

/// `packing: best_fit`; holds all ids until Finish, which then gives the rows.
std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row);

/// Upper bound of the memory of NewBestFitPacker for this much text.
constexpr std::uint64_t BestFitMemory(std::uint64_t text_bytes) { return 5 * text_bytes; }

/// Adds `text` to the counts of a row. kResourceExhausted if a count is too large for an index.
Status CountText(std::string_view text, PackedRowFacts& facts);

}  // namespace pipeline
