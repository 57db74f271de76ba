#include "text/repetition.h"

#include <algorithm>
#include <bit>

namespace pipeline {

namespace {

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;  // odd, without structure

/// Mixes a hash, because the upper bits of a polynomial do not depend on all characters.
std::uint64_t Mix(std::uint64_t hash) {
  hash ^= hash >> 32;
  return hash * 0xd6e8feb86659fd93;
}

}  // namespace

void RunFinder::Add(std::span<const char32_t> piece) {
  if (piece.empty() || found_) return;
  const auto differs = [&](char32_t c) { return [c](char32_t other) { return other != c; }; };
  if (run_ > 0) {
    const auto front = std::find_if(piece.begin(), piece.end(), differs(last_)) - piece.begin();
    run_ += static_cast<std::size_t>(front);
    found_ = run_ > limit_;
    if (found_ || static_cast<std::size_t>(front) == piece.size()) return;
  }
  // A run of more than `limit` contains one of these positions.
  for (std::size_t at = 0; at < piece.size() && !found_; at += limit_ + 1) {
    const char32_t c = piece[at];
    std::size_t begin = at;
    while (begin > 0 && at - begin < limit_ && piece[begin - 1] == c) --begin;
    std::size_t end = at + 1;
    while (end < piece.size() && end - begin <= limit_ && piece[end] == c) ++end;
    found_ = end - begin > limit_;
  }
  last_ = piece.back();
  run_ =
      static_cast<std::size_t>(std::find_if(piece.rbegin(), piece.rend(), differs(last_)) - piece.rbegin());
}

RepetitionFinder::RepetitionFinder(std::size_t length) : length_(length), drop_(1) {
  for (std::size_t i = 0; i < length; ++i) drop_ *= kBase;
}

std::size_t RepetitionFinder::FirstOf(std::span<const char32_t> text, std::size_t begin, std::uint64_t hash) {
  constexpr std::uint32_t kPosition = 0xffff;
  const std::uint64_t mixed = Mix(hash);
  const auto tag = static_cast<std::uint32_t>(mixed) & ~kPosition;
  const std::size_t mask = slots_.size() - 1;
  const auto* const run = text.data() + begin;
  for (auto at = static_cast<std::size_t>(mixed >> 32) & mask;; at = (at + 1) & mask) {
    std::uint32_t& slot = slots_[at];
    if (slot == 0) {
      slot = tag | static_cast<std::uint32_t>(begin + 1);
      return begin;
    }
    if ((slot & ~kPosition) != tag) continue;
    const std::size_t earlier = (slot & kPosition) - 1;
    if (std::equal(run, run + length_, text.data() + earlier)) return earlier;
  }
}

std::size_t RepetitionFinder::CountRepeated(std::span<const char32_t> text) {
  if (text.size() <= length_) return 0;
  const std::size_t runs = text.size() - length_ + 1;
  // Two runs rarely share one of so many slots; each shared slot costs a comparison.
  slots_.assign(std::bit_ceil(4 * runs), 0);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < length_; ++i) hash = hash * kBase + text[i];
  std::size_t repeated = 0;
  std::size_t covered = 0;  // end of the last run that repeats
  for (std::size_t begin = 0;; ++begin) {
    if (FirstOf(text, begin, hash) != begin) {
      const std::size_t end = begin + length_;
      repeated += end - std::max(begin, covered);
      covered = end;
    }
    if (begin + 1 == runs) return repeated;
    hash = hash * kBase + text[begin + length_] - drop_ * text[begin];
  }
}

}  // namespace pipeline
