// Both checks agree; repair gives clean text, keeps what was clean, and does the same when done in two
// pieces.
#include <string>

#include "tests/fuzz/require.h"
#include "text/utf8.h"
#include "text/utf8_blocks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t clean = CleanUtf8Prefix(text);
  Require(clean <= size);
  Require(IsCleanUtf8(text) == (clean == size));
  Require(!HasUtf8Blocks() || IsCleanUtf8Blocks(text) == (clean == size));
  Require(clean == size || CleanUtf8Prefix(text.substr(clean)) == 0);

  std::string whole;
  const Utf8Damage damage = RepairUtf8(text, whole);
  Require(IsCleanUtf8(whole));
  Require((damage == Utf8Damage{}) == (clean == size));
  Require(whole.substr(0, clean) == text.substr(0, clean));

  // `clean` is a border between subparts, so that the two sides have nothing to do with each other.
  std::string pieces;
  Utf8Damage sum = RepairUtf8(text.substr(0, clean), pieces);
  const Utf8Damage rest = RepairUtf8(text.substr(clean), pieces);
  sum.invalid_utf8 += rest.invalid_utf8, sum.nul += rest.nul;
  Require(pieces == whole && sum == damage);

  // Decoding stays inside its input whatever it is, and counts the characters of clean text.
  std::u32string characters(size + whole.size(), U'\0');
  std::string_view undecoded = text;
  const std::size_t decoded = DecodeUtf8(undecoded, characters);
  Require(undecoded.empty());
  for (const char32_t c : characters.substr(0, decoded)) Require(c <= 0x10FFFF);
  undecoded = whole;
  Require(DecodeUtf8(undecoded, characters) == CountCharacters(whole));

  std::string again;
  Require(RepairUtf8(whole, again) == Utf8Damage{} && again == whole);
  return 0;
}
