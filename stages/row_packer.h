// One stream of token ids, cut into rows. What a row is: formats/packed.md.
#pragma once

#include <cstdint>
#include <functional>
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

/// Holds one row. One thread at a time.
class RowPacker {
 public:
  /// `row` takes the seq_len + 1 ids of each row; they are valid during the call.
  using TakeRow = std::function<Status(std::span<const std::uint32_t> ids, const PackedRowFacts& facts)>;
  RowPacker(const RowRules& rules, TakeRow row);

  /// Lines come in order. `ends` is parallel to `ids`: where each ends in `text`, in bytes, ascending.
  Status Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends, std::string_view text,
             std::uint64_t document);
  /// Ends the stream. No call may follow.
  Status Finish();

 private:
  Status EndLine(std::uint32_t id);
  Status Emit();
  Status Count(std::string_view text);

  const RowRules rules_;
  const TakeRow take_;
  std::vector<std::uint32_t> row_;  // the ids of the open one; never full between calls
  PackedRowFacts facts_;            // bytes and chars of the open one
  bool in_line_ = false;            // the last line has not got its end
  std::uint64_t document_ = 0;      // of the last line
};

}  // namespace pipeline
