// The `.idx` file of a Megatron data set, in which each sequence is a document. Format:
// formats/megatron_index.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Type of the ids; the values are the codes of the format.
enum class MegatronType : std::uint8_t { kInt32 = 4, kUint16 = 8 };

/// Returns the type that Megatron chooses for a vocabulary of this size.
MegatronType MegatronTypeOf(std::uint32_t vocab_size);
/// Bytes per id.
std::uint32_t MegatronIdBytes(MegatronType type);

/// Largest number of ids of a sequence.
inline constexpr std::uint32_t kMostOfMegatronSequence = INT32_MAX;

/// Writes an index. Holds 4 bytes per sequence. One thread at a time.
class MegatronIndexWriter {
 public:
  explicit MegatronIndexWriter(MegatronType type) : type_(type) {}
  /// Adds a sequence of so many ids, at most kMostOfMegatronSequence.
  void Add(std::uint32_t ids) { lengths_.push_back(ids); }
  /// Gives the bytes of the file to `put`, a part at a time; its failure ends the writing. The last call.
  Status Finish(const std::function<Status(std::string_view)>& put) const;

 private:
  const MegatronType type_;
  std::vector<std::uint32_t> lengths_;
};

/// Reads an index front to back, and checks each number of it. Holds a part of the file. One thread at a
/// time; `file` outlives it.
class MegatronIndexReader {
 public:
  /// Reads the header. kDataLoss gives the reason; a type outside MegatronType is refused, too.
  static Result<MegatronIndexReader> Open(const ByteFile& file, std::stop_token stop);

  MegatronType type() const { return type_; }
  std::uint64_t sequences() const { return sequences_; }
  /// Returns the number of ids of the next sequence; absent after the last. kDataLoss: the file is no index
  /// in which each sequence is a document.
  Result<std::optional<std::uint32_t>> Next();

 private:
  MegatronIndexReader(const ByteFile& file, std::stop_token stop) : file_(&file), stop_(std::move(stop)) {}
  Status ReadPart();

  const ByteFile* file_;
  std::stop_token stop_;
  MegatronType type_ = MegatronType::kInt32;
  std::uint64_t sequences_ = 0;
  std::vector<std::uint32_t> part_;  // the lengths of some sequences, checked
  std::uint64_t part_begin_ = 0;     // the sequence of the first of them
  std::uint64_t next_ = 0;           // sequence
  std::uint64_t pointer_ = 0;        // where the sequence behind part_ begins in the other file
};

}  // namespace pipeline
