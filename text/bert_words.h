// Words of a text as in BERT's BasicTokenizer, with case and accents kept, or its morphemes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// kText: words between white space; each punctuation character and each CJK ideograph is a word of its
/// own. kMorphemes: the parts of a morpheme between white space.
enum class BertWordKind : std::uint8_t { kText, kMorphemes };

/// Iterates over the words of one text at a time; reuses its memory. One thread at a time.
class BertWords {
 public:
  /// `text` is UTF-8. `cuts`: ends of the morphemes, used only for kMorphemes. Both must stay valid.
  void Start(std::string_view text, BertWordKind kind, std::span<const std::uint32_t> cuts);
  /// Moves to the next word; false at the end.
  bool Next();

  /// The word without the characters that BERT removes. Valid until the next call.
  std::string_view word() const { return word_; }
  std::size_t characters() const { return characters_; }
  /// Offset in the text after the first `bytes` bytes of the word. `bytes` is above 0 and ends a character.
  std::uint32_t EndOf(std::size_t bytes) const {
    return copied_ ? ends_[bytes - 1] : static_cast<std::uint32_t>(begin_ + bytes);
  }

 private:
  void Copy(std::size_t begin, std::size_t end);

  std::string_view text_;
  std::span<const std::uint32_t> cuts_;
  BertWordKind kind_ = BertWordKind::kText;
  std::size_t at_ = 0;
  std::size_t cut_ = 0;  // index of the first cut after at_

  std::string_view word_;
  std::size_t characters_ = 0;
  std::size_t begin_ = 0;
  // Only for a word from which characters were removed.
  bool copied_ = false;
  std::string copy_;
  std::vector<std::uint32_t> ends_;  // for each byte of copy_, the end of its character in the text
};

}  // namespace pipeline
