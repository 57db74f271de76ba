#include "text/sentencepiece/charsmap.h"

#include "formats/coding.h"

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

}  // namespace pipeline
