#include "text/unigram/counted_words.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kWordBlockBytes = 64 << 10;
constexpr std::size_t kFirstSlots = 64;

std::uint32_t HashOf(std::string_view word) {
  const std::uint64_t hash = std::hash<std::string_view>()(word);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

std::uint64_t SaturatedSum(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

void CountedWords::Add(std::string_view word, std::uint64_t count) {
  if (count == 0) return;
  total_ = SaturatedSum(total_, count);
  if (entries_.size() >= slots_.size() / 4 * 3) Grow();
  const std::uint32_t hash = HashOf(word);
  for (std::size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0) {
      entries_.push_back({Keep(word), static_cast<std::uint32_t>(word.size()), hash, count});
      characters_ += CountCharacters(word);
      slots_[slot] = static_cast<std::uint32_t>(entries_.size());
      return;
    }
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash != hash || std::string_view(entry.text, entry.size) != word) continue;
    entry.count = SaturatedSum(entry.count, count);
    return;
  }
}

void CountedWords::Merge(const CountedWords& other) {
  for (const Entry& entry : other.entries_) Add({entry.text, entry.size}, entry.count);
}

std::uint64_t CountedWords::memory() const {
  return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t) + block_bytes_ +
         blocks_.capacity() * sizeof(blocks_[0]);
}

std::vector<std::pair<std::string_view, std::uint64_t>> CountedWords::All() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.emplace_back(std::string_view(entry.text, entry.size), entry.count);
  return all;
}

std::size_t CountedWords::FreeSlot(std::uint32_t hash) const {
  std::size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void CountedWords::Grow() {
  slots_.assign(std::max(kFirstSlots, slots_.size() * 2), 0);
  for (std::size_t at = 0; at < entries_.size(); ++at)
    slots_[FreeSlot(entries_[at].hash)] = static_cast<std::uint32_t>(at + 1);
}

const char* CountedWords::Keep(std::string_view word) {
  if (word.empty()) return "";
  if (word.size() > left_) {
    left_ = std::max(kWordBlockBytes, word.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    // The free bytes of a block are those at its front, so that a pointer is enough.
    block_bytes_ += left_;
  }
  left_ -= word.size();
  char* const text = blocks_.back().get() + left_;
  std::memcpy(text, word.data(), word.size());
  return text;
}

}  // namespace pipeline
