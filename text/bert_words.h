// The words of a text as BERT's BasicTokenizer finds them, case and accents kept, or its morphemes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// What is a word: what white space, punctuation and CJK ideographs leave, each of the latter two being one
/// of its own; or what white space leaves of a morpheme.
enum class BertWordKind : std::uint8_t { kText, kMorphemes };

/// Goes through one text at a time; keeps its memory from text to text. One thread at a time.
class BertWords {
 public:
  /// `text` is UTF-8 and stays where it is; `cuts`, which are looked at for kMorphemes, too.
  void Start(std::string_view text, BertWordKind kind, std::span<const std::uint32_t> cuts);
  /// False at the end.
  bool Next();

  /// The word, without characters that BERT removes. Valid until the next call.
  std::string_view word() const { return word_; }
  std::size_t characters() const { return characters_; }
  /// Where in the text the first `bytes` bytes of the word end; `bytes` is a border of characters, above 0.
  std::uint32_t EndOf(std::size_t bytes) const {
    return copied_ ? ends_[bytes - 1] : static_cast<std::uint32_t>(begin_ + bytes);
  }

 private:
  void Copy(std::size_t begin, std::size_t end);

  std::string_view text_;
  std::span<const std::uint32_t> cuts_;
  BertWordKind kind_ = BertWordKind::kText;
  std::size_t at_ = 0;
  std::size_t cut_ = 0;  // the first of cuts_ behind at_

  std::string_view word_;
  std::size_t characters_ = 0;
  std::size_t begin_ = 0;
  // A word that something was removed from.
  bool copied_ = false;
  std::string copy_;
  std::vector<std::uint32_t> ends_;  // for each byte of copy_, where its character ends in the text
};

}  // namespace pipeline
