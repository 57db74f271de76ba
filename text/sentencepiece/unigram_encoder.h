// Encodes lines with a SentencePiece model of the type unigram, with the ids of the library 0.1.97.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "formats/sentencepiece_model.h"
#include "text/sentencepiece/line_normalizer.h"
#include "text/sentencepiece/piece_trie.h"

namespace pipeline {

/// Immutable and safe from any thread; each thread has its own Scratch. The time is linear in the length of a
/// line; the longest piece is the factor.
class UnigramEncoder {
 public:
  /// Memory of one thread, about 20 bytes for each byte of its longest line. It never changes a result.
  class Scratch {
    friend class UnigramEncoder;
    /// The best way to a position.
    struct Best {
      float score;
      std::uint32_t begin;  // of its last piece
      std::int32_t id;      // of that piece; kNotReached, kUnknown
    };
    struct Token {
      std::uint32_t begin, end;
      std::int32_t id;
    };
    LineSymbols line_;
    std::vector<Best> best_;
    std::vector<Token> tokens_;  // from the last to the first
  };

  /// Null: the model is of another type, or its charsmap is damaged, and the library has to encode. The
  /// library has accepted it.
  static std::unique_ptr<const UnigramEncoder> Make(const SentencePieceModel& model,
                                                    SpaceMarks marks = SpaceMarks::kAreSpaces);

  /// Appends the ids of `line`, which is clean UTF-8, and for each the offset of its end in the line, as
  /// SentencePieceEncoder::Encode says.
  void Encode(std::string_view line, Scratch& scratch, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>& ends) const;
  std::uint64_t memory() const;

 private:
  UnigramEncoder(const SentencePieceModel& model, SpaceMarks marks);

  void FindBest(Scratch& scratch) const;

  const LineNormalizer normalizer_;
  PieceTrie trie_;
  std::vector<double> own_scores_;  // by id; empty: the model has no user-defined pieces
  float unknown_score_ = 0;
  std::uint32_t unknown_ = 0;
  bool falls_back_ = false;                    // to bytes
  std::array<std::uint32_t, 256> byte_ids_{};  // if it does
};

}  // namespace pipeline
