// Words of a compiled dictionary of MeCab: the files sys.dic and unk.dic. Format: text/mecab/lattice.md, 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Front of such a file.
struct DictionaryHeader {
  std::uint32_t type = 0;       // kSystemDictionary or another
  std::uint32_t right_ids = 0;  // of the contexts that words give to the next word
  std::uint32_t left_ids = 0;   // of the contexts that words expect from the word before
  std::uint32_t trie_bytes = 0, word_bytes = 0;
  std::string charset;
};
inline constexpr std::uint32_t kSystemDictionary = 0;

/// kFailedPrecondition: `path` is missing, damaged, or was made by another version of MeCab.
Result<DictionaryHeader> ReadDictionaryHeader(const std::string& path);

/// Immutable once read.
struct DictionaryFile {
  /// A state of a trie over bytes. Its children lie behind `base`: the one along byte B at base + B + 1, and
  /// at `base` a leaf, if the bytes up to here are a surface. The `check` of a child is this `base`.
  struct Unit {
    std::int32_t base = 0;  // of a leaf: ~(first word << 8 | words)
    std::uint32_t check = 0;
    bool IsLeafOf(std::uint32_t parent_base) const { return check == parent_base && base < 0; }
  };
  struct Word {
    std::uint16_t left = 0, right = 0;
    std::int16_t cost = 0;
  };
  /// Words with the same surface, in the order of the dictionary.
  struct Run {
    std::uint32_t first = 0, count = 0;
  };
  static Run RunOfLeaf(const Unit& leaf) {
    const auto value = static_cast<std::uint32_t>(~leaf.base);
    return {value >> 8, value & 0xff};
  }

  /// Fails as ReadDictionaryHeader does. All bases, runs and ids are within their bounds afterwards.
  /// kUnimplemented: the file is whole, but has an empty surface, or one with more than 255 words.
  static Result<DictionaryFile> Read(const std::string& path);

  /// The words with this surface; none: count is 0.
  Run Find(std::string_view surface) const;
  /// The words of each surface with which `text` begins.
  std::vector<Run> RunsAt(std::string_view text) const;

  /// Goes along a byte; false: no surface goes on so.
  bool Step(std::uint32_t& base, char byte) const;

  DictionaryHeader header;
  std::vector<Unit> units;  // the first is the root
  std::vector<Word> words;
};

}  // namespace pipeline
