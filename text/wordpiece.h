// BERT's vocabularies and encoder: greedy, longest match first. Rules: stages/export/bert/bert.md.
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

inline constexpr std::string_view kContinuation = "##";  // prefix of a piece that does not begin a word
inline constexpr std::size_t kMaxWordPieces = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWordPieceBytes = std::size_t{16} << 20;  // of a vocabulary
/// Pieces without text, in the order of the vocabularies that are trained here.
inline constexpr std::array<std::string_view, 5> kSpecialPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                   "[MASK]"};
/// A longer word is unknown as a whole; the number is that of transformers.
inline constexpr std::size_t kMaxWordCharacters = 100;

bool IsSpecialPiece(std::string_view piece);

/// The pieces of a vocab.txt by id.
class WordPieceVocabulary {
 public:
  /// kDataLoss names the line: BERT cannot use `text` as a vocabulary.
  static Result<WordPieceVocabulary> Parse(std::string_view text);

  std::size_t size() const { return pieces_.size(); }
  const std::string& operator[](std::uint32_t id) const { return pieces_[id]; }
  /// Takes time proportional to the size of the vocabulary.
  std::optional<std::uint32_t> Find(std::string_view piece) const;
  std::uint32_t unk() const { return unk_; }
  /// The pieces of `ids`, all below size(), as text: a space before each that begins a word. So text comes
  /// back with spaces around punctuation and ideographs.
  std::string TextOf(std::span<const std::uint32_t> ids) const;
  /// Returns the bytes of the file, one piece per line.
  std::string Serialize() const;

 private:
  std::vector<std::string> pieces_;
  std::uint32_t unk_ = 0;
};

/// Immutable and safe from any thread; each thread has its own BertWords.
class WordPieceEncoder {
 public:
  WordPieceEncoder(const WordPieceVocabulary& vocabulary, BertWordKind kind);

  /// Appends the ids of `line`, and to `ends` for each id the offset of its end in `line`. Ends never
  /// decrease, and the last is line.size(). Text outside words belongs to the next id; at the end of the
  /// line, to the last id.
  void Encode(std::string_view line, std::span<const std::uint32_t> cuts, BertWords& words,
              std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& ends) const;

  BertWordKind kind() const { return kind_; }
  /// Bytes of memory that the encoder holds.
  std::uint64_t memory() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Edge from a node to `child`, for one character.
  struct Edge {
    std::uint64_t key = 0;  // KeyOf(node, character); 0: free, since no text has NUL
    std::uint32_t child = 0;
  };
  static std::uint64_t KeyOf(std::uint32_t node, char32_t code_point) {
    return std::uint64_t{node} << 21 | code_point;
  }
  std::size_t SlotOf(std::uint64_t key) const;
  /// Returns the node of `piece` and creates it if needed.
  std::uint32_t Add(std::string_view piece);
  bool EncodeWord(const BertWords& words, std::vector<std::uint32_t>& ids,
                  std::vector<std::uint32_t>& ends) const;

  // Trie over the characters of all pieces except special ones. The search for a piece that continues a
  // word begins at the node of "##".
  std::vector<Edge> edges_;  // hash table by key; at least half of it is free
  std::size_t used_ = 0;
  int shift_ = 0;                     // from a hash to its slot in edges_
  std::vector<std::uint32_t> id_of_;  // by node; kNone: no piece ends there
  std::uint32_t inside_;              // the node of "##"
  std::uint32_t unk_;
  BertWordKind kind_;
};

}  // namespace pipeline
