// What BERT's tokenizer makes of a character when it looks for words.
#pragma once

#include <cstdint>

namespace pipeline {

enum class BertCharacter : std::uint8_t {
  kPlain,    // a part of a word
  kAlone,    // a word by itself: punctuation, a CJK ideograph
  kSpace,    // ends a word
  kRemoved,  // as if it were not there
};

/// `code_point` is at most U+10FFFF.
BertCharacter BertCharacterOf(char32_t code_point);

}  // namespace pipeline
