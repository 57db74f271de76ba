#include "text/sentencepiece/character_table.h"

namespace pipeline {

std::string_view EncodeCharacter(char32_t code, std::array<char, 4>& bytes) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    bytes = {static_cast<char>(code)};
    return {bytes.data(), 1};
  }
  if (code < 0x800) {
    bytes = {static_cast<char>(0xC0 | code >> 6), tail(0)};
    return {bytes.data(), 2};
  }
  if (code < 0x10000) {
    bytes = {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
    return {bytes.data(), 3};
  }
  bytes = {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
  return {bytes.data(), 4};
}

}  // namespace pipeline
