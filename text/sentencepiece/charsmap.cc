#include "text/sentencepiece/charsmap.h"

#include "formats/coding.h"
#include "text/utf8.h"

namespace pipeline {

Charsmap::Charsmap(std::string_view bytes) {
  if (bytes.empty()) return;
  Decoder in(bytes);
  const std::uint32_t trie_bytes = in.U32();
  Decoder trie(in.Bytes(trie_bytes));
  units_.resize(trie_bytes / 4);
  for (std::uint32_t& unit : units_) unit = trie.U32();
  replacements_ = in.Bytes(in.left());
}

Charsmap::Match Charsmap::LongestAfter(State state, std::size_t done, std::string_view text) const {
  Match match;
  for (;;) {
    if (state.ends_rule) match = {done, ReplacementAt(state)};
    if (done == text.size() || !Step(state, text[done])) return match;
    ++done;
  }
}

bool Charsmap::keeps_characters() const {
  struct Begun {
    State state;
    unsigned missing;  // bytes of the character that has begun
  };
  constexpr unsigned kMostMissing = 3;
  std::vector<bool> seen(units_.size() * (kMostMissing + 1));  // a damaged trie may have circles
  std::vector<Begun> open;
  if (!empty()) open.push_back({root(), 0});
  while (!open.empty()) {
    const Begun begun = open.back();
    open.pop_back();
    const unsigned first = begun.missing > 0 ? 0x80 : 0x01, last = begun.missing > 0 ? 0xbf : 0xf4;
    for (unsigned byte = first; byte <= last; ++byte) {
      Begun next{begun.state, begun.missing > 0 ? begun.missing - 1 : 0};
      if (begun.missing == 0 && byte >= 0x80) next.missing = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      if (!Step(next.state, static_cast<char>(byte))) continue;
      if (next.state.ends_rule && (next.missing > 0 || !IsCleanUtf8(ReplacementAt(next.state)))) return false;
      const std::size_t place = next.state.place * (kMostMissing + 1) + next.missing;
      if (!seen[place]) open.push_back(next);
      seen[place] = true;
    }
  }
  return true;
}

}  // namespace pipeline
