#include "text/unigram/suffix_order.h"

#include <algorithm>
#include <utility>

#include "text/unigram/parallel_blocks.h"
#include "text/unigram/stoppable_sort.h"

namespace pipeline {

namespace {

constexpr int kSymbolBits = 21;       // of a code point, and so of a character's number
constexpr std::uint32_t kPacked = 3;  // symbols in a key

/// The symbols behind the first one, packed, and the position.
struct Suffix {
  std::uint64_t key;
  std::uint32_t position;
};

/// Compares suffixes whose first symbol is the same.
class SuffixLess {
 public:
  SuffixLess(const TrainingWords& words, std::uint32_t depth)
      : symbols_(words.symbols.data()), depth_(depth) {}

  std::uint64_t KeyAt(std::uint32_t position) const {
    std::uint64_t key = 0;
    bool ended = false;
    for (std::uint32_t at = 1; at <= kPacked; ++at) {
      ended = ended || at >= depth_ || symbols_[position + at] == kWordEnd;
      key = key << kSymbolBits | (ended ? kWordEnd : symbols_[position + at]);
    }
    return key;
  }

  bool operator()(const Suffix& a, const Suffix& b) const {
    if (a.key != b.key) return a.key < b.key;
    const bool ended = (a.key & ((std::uint64_t{1} << kSymbolBits) - 1)) == kWordEnd;
    for (std::uint32_t at = kPacked + 1; !ended && at < depth_; ++at) {
      const std::uint32_t one = symbols_[a.position + at], other = symbols_[b.position + at];
      if (one != other) return one < other;
      if (one == kWordEnd) break;
    }
    return a.position < b.position;
  }

 private:
  const std::uint32_t* symbols_;
  std::uint32_t depth_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> SuffixOrder(const TrainingWords& words, std::uint32_t depth,
                                                      std::size_t threads, const std::stop_token& stop) {
  // By the first symbol first: a bucket each.
  std::vector<std::uint32_t> begins(words.characters.size() + 1, 0);
  for (const std::uint32_t symbol : words.symbols)
    if (symbol != kWordEnd) ++begins[symbol + 1];
  for (std::size_t symbol = 1; symbol < begins.size(); ++symbol) begins[symbol] += begins[symbol - 1];
  std::vector<std::uint32_t> order(begins.back());
  std::vector<std::uint32_t> next = begins;
  for (std::uint32_t position = 0; position < words.symbols.size(); ++position)
    if (const std::uint32_t symbol = words.symbols[position]; symbol != kWordEnd)
      order[next[symbol]++] = position;

  struct Scratch {
    std::vector<Suffix> suffixes, buffer;
  };
  std::vector<Scratch> scratches(std::max<std::size_t>(threads, 1));
  const SuffixLess less(words, depth);
  const bool finished =
      ForEachBlock(words.characters.size(), threads, stop, [&](std::size_t symbol, std::size_t thread) {
        std::vector<Suffix>& suffixes = scratches[thread].suffixes;
        suffixes.clear();
        for (std::uint32_t at = begins[symbol]; at < begins[symbol + 1]; ++at)
          suffixes.push_back({less.KeyAt(order[at]), order[at]});
        if (!SortUnlessStopped(suffixes, scratches[thread].buffer, less, stop)) return;
        for (std::size_t at = 0; at < suffixes.size(); ++at)
          order[begins[symbol] + at] = suffixes[at].position;
      });
  if (!finished) return std::nullopt;
  return order;
}

std::uint32_t CommonCharacters(const TrainingWords& words, std::uint32_t a, std::uint32_t b,
                               std::uint32_t depth) {
  const std::uint32_t* const symbols = words.symbols.data();
  std::uint32_t common = 0;
  while (common < depth && symbols[a + common] == symbols[b + common] && symbols[a + common] != kWordEnd)
    ++common;
  return common;
}

}  // namespace pipeline
