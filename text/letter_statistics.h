// How likely a text is in a language: by its letters and their neighbours. Rules: text/encodings.md,
// "Letters".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

/// Chinese in its simplified and its traditional characters; all languages in Cyrillic letters are one.
enum class Language : std::uint8_t { kJapanese, kKorean, kSimplified, kTraditional, kCyrillic, kThai };

/// The bits that an encoder of text in that language would need. Fewer: likelier.
struct TextCost {
  double bits = 0;               // of the whole sample
  double high_bits = 0;          // part of `bits`: characters beyond ASCII
  std::uint64_t high_bytes = 0;  // bytes of these characters in the sample

  double PerByte() const { return high_bytes == 0 ? 0 : high_bits / static_cast<double>(high_bytes); }
};

/// Returns the parts of `sample` with bytes above 7F, each once, in their order. They end at bytes that no
/// character of several bytes has, such as line ends, spaces and commas: what repeats tells nothing new. Of
/// more than 64 KiB only some, from all of the sample.
std::string DistinctWords(std::string_view sample);

/// `decoded` is UTF-8 with kIllegalSequence, and was `sample_bytes` long before.
TextCost CostOfText(Language language, std::string_view decoded, std::size_t sample_bytes);

/// As text in Latin letters with some others, each a byte above 7F whose meaning is not known.
TextCost CostOfLatinText(std::string_view sample);

}  // namespace pipeline
