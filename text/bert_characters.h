// Role of a character in the word split of BERT's tokenizer.
#pragma once

#include <cstdint>

namespace pipeline {

enum class BertCharacter : std::uint8_t {
  kPlain,    // a part of a word
  kAlone,    // a word of its own: punctuation, a CJK ideograph
  kSpace,    // ends a word
  kRemoved,  // skipped
};

/// `code_point` is at most U+10FFFF.
BertCharacter BertCharacterOf(char32_t code_point);

}  // namespace pipeline
