// BERT's vocabularies, and text as their pieces: greedy, longest match first. Rules: formats/bert.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/bert_words.h"

namespace pipeline {

inline constexpr std::string_view kContinuation = "##";  // in front of a piece that does not begin a word
inline constexpr std::size_t kMaxWordPieces = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWordPieceBytes = std::size_t{16} << 20;  // of a vocabulary
/// They stand for no text, in the order of the vocabularies that are trained here.
inline constexpr std::array<std::string_view, 5> kSpecialPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                   "[MASK]"};
/// A word of more characters is unknown as a whole: transformers' number.
inline constexpr std::size_t kMaxWordCharacters = 100;

bool IsSpecialPiece(std::string_view piece);

/// The pieces of a vocab.txt, by id.
class WordPieceVocabulary {
 public:
  /// kDataLoss naming the line where `text` is no vocabulary that BERT can use.
  static Result<WordPieceVocabulary> Parse(std::string_view text);

  std::size_t size() const { return pieces_.size(); }
  const std::string& operator[](std::uint32_t id) const { return pieces_[id]; }
  /// Takes time in proportion to the vocabulary.
  std::optional<std::uint32_t> Find(std::string_view piece) const;
  std::uint32_t unk() const { return unk_; }
  /// The bytes of the file, one piece a line.
  std::string Serialize() const;

 private:
  std::vector<std::string> pieces_;
  std::uint32_t unk_ = 0;
};

/// Immutable and safe from any thread, each with words of its own.
class WordPieceEncoder {
 public:
  WordPieceEncoder(const WordPieceVocabulary& vocabulary, BertWordKind kind);

  /// Appends the ids of `line`, and for each the byte of `line` behind it: never less than for the one
  /// before, and line.size() for the last. What belongs to no word belongs to the id behind it, at the end of
  /// the line to the last one.
  void Encode(std::string_view line, std::span<const std::uint32_t> cuts, BertWords& words,
              std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& ends) const;

  BertWordKind kind() const { return kind_; }
  /// Bytes that it holds.
  std::uint64_t memory() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// From `node`, with the character `code_point`, to `child`.
  struct Edge {
    std::uint64_t key = 0;  // of both; 0 where there is none, since no text holds NUL
    std::uint32_t child = 0;
  };
  static std::uint64_t KeyOf(std::uint32_t node, char32_t code_point) {
    return std::uint64_t{node} << 21 | code_point;
  }
  std::size_t SlotOf(std::uint64_t key) const;
  /// The node of `piece`, which is made.
  std::uint32_t Add(std::string_view piece);
  bool EncodeWord(const BertWords& words, std::vector<std::uint32_t>& ids,
                  std::vector<std::uint32_t>& ends) const;

  // A trie of the characters of all pieces but the special ones. What continues a word is looked for from the
  // node of "##" on.
  std::vector<Edge> edges_;  // a table that is hashed by the key; at least half of it is free
  std::size_t used_ = 0;
  int shift_ = 0;                     // of a hash to a place in it
  std::vector<std::uint32_t> id_of_;  // by node; kNone where no piece ends
  std::uint32_t inside_;              // the node of "##"
  std::uint32_t unk_;
  BertWordKind kind_;
};

}  // namespace pipeline
