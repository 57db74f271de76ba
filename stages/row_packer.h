// Lines of token ids become rows. What a row is: formats/packed.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/packed.h"

namespace pipeline {

/// What rows are made with.
struct RowRules {
  std::uint32_t seq_len = 0;
  std::uint32_t eos_id = 0;
  std::uint32_t fill_id = 0;
  std::optional<std::uint32_t> newline_id;  // absent: eos ends each line
};

/// Takes the seq_len + 1 ids of each row, and where in it segments begin, but for the first: ascending. All
/// of it is valid during the call.
using TakeRow = std::function<Status(std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                                     std::span<const std::uint32_t> segments)>;

/// One split of one partition. One thread at a time.
class RowPacker {
 public:
  virtual ~RowPacker() = default;

  /// Lines come in order. `ends` is parallel to `ids`: where each ends in `text`, in bytes, ascending;
  /// kInternal where the three do not belong together.
  Status Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends, std::string_view text,
             std::uint64_t document);
  /// No call may follow.
  Status Finish();

 private:
  /// How many ids the next call of Take may have: at least one.
  virtual std::size_t Room() const = 0;
  /// Ids of the open line, and the text that they stand for.
  virtual Status Take(std::span<const std::uint32_t> ids, std::string_view text) = 0;
  /// The open line has ended, and its document perhaps.
  virtual Status EndLine(bool of_document) = 0;
  /// Gives what rows there still are.
  virtual Status GiveRest() = 0;

  bool in_line_ = false;        // the last line has not got its end
  std::uint64_t document_ = 0;  // of the last line
};

/// `packing: stream`; holds one row.
std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row);

/// `packing: best_fit`; holds all ids until Finish, which gives the rows.
std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row);

/// Of the memory of NewBestFitPacker, for so much text.
constexpr std::uint64_t BestFitMemory(std::uint64_t text_bytes) { return 5 * text_bytes; }

/// Adds `text` to what a row counts. kResourceExhausted where that is too much for an index.
Status CountText(std::string_view text, PackedRowFacts& facts);

}  // namespace pipeline
