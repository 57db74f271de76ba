// The `.idx` of a Megatron data set. Format: formats/megatron_index.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Of the ids; the values are the codes of the format.
enum class MegatronType : std::uint8_t { kInt32 = 4, kUint16 = 8 };

/// As Megatron chooses it for so many pieces.
MegatronType MegatronTypeOf(std::uint32_t vocab_size);
/// Of one id.
std::uint32_t MegatronIdBytes(MegatronType type);

struct MegatronIndex {
  MegatronType type = MegatronType::kInt32;
  std::vector<std::uint32_t> lengths;    // of each sequence, in ids
  std::vector<std::uint64_t> documents;  // 0, then the sequence behind each document
  bool operator==(const MegatronIndex&) const = default;
};

/// The bytes of the file; where sequences begin follows from their lengths.
std::string EncodeMegatronIndex(const MegatronIndex& index);

/// The index of `rows` sequences of `length` ids, each a document.
MegatronIndex MegatronRows(MegatronType type, std::uint64_t rows, std::uint32_t length);

/// kDataLoss saying what is wrong; types that are none of MegatronType are refused.
Result<MegatronIndex> ParseMegatronIndex(std::string_view bytes);

}  // namespace pipeline
