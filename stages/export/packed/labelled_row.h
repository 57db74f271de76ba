// Verifies rows of labelled documents against the labels of packed.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stages/export/packed/packed_info.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

class LabelledRowCheck {
 public:
  /// `info` has labels, and outlives it, as `tokenizer` does: null, unless they are numbers.
  LabelledRowCheck(const PackedInfo& info, const SentencePieceEncoder* tokenizer);

  /// Returns what is wrong with a row of ids and their weights, which are 0 and 1; empty: nothing. Then
  /// `found` has what its index entry must say.
  std::string WrongWith(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> weights,
                        PackedRowFacts& found) const;

 private:
  /// The same for the document with ids from `begin` on, which eos at `end` ends; adds to `found`.
  std::string WrongWithDocument(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> weights,
                                std::size_t begin, std::size_t end, PackedRowFacts& found) const;

  /// The text of a label from its ids; absent: they are none.
  std::optional<std::string> LabelOf(const std::vector<std::uint32_t>& ids) const;

  const PackedInfo& info_;
  const SentencePieceEncoder* const tokenizer_;
  std::map<std::vector<std::uint32_t>, const PackedLabel*> labels_;  // by their ids
};

}  // namespace pipeline
