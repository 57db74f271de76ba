// The `.idx` file of a Megatron data set. Format: formats/megatron_index.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Type of the ids; the values are the codes of the format.
enum class MegatronType : std::uint8_t { kInt32 = 4, kUint16 = 8 };

/// Returns the type that Megatron chooses for a vocabulary of this size.
MegatronType MegatronTypeOf(std::uint32_t vocab_size);
/// Bytes per id.
std::uint32_t MegatronIdBytes(MegatronType type);

struct MegatronIndex {
  MegatronType type = MegatronType::kInt32;
  std::vector<std::uint32_t> lengths;    // of each sequence, in ids
  std::vector<std::uint64_t> documents;  // 0, then the number of sequences up to the end of each document
  bool operator==(const MegatronIndex&) const = default;
};

/// Returns the bytes of the file. The offsets of sequences follow from their lengths.
std::string EncodeMegatronIndex(const MegatronIndex& index);

/// Returns the index of `rows` sequences of `length` ids, each one a document.
MegatronIndex MegatronRows(MegatronType type, std::uint64_t rows, std::uint32_t length);

/// kDataLoss gives the reason. A type outside MegatronType is refused, too.
Result<MegatronIndex> ParseMegatronIndex(std::string_view bytes);

}  // namespace pipeline
