#include "text/unigram/seed_pieces.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "text/unigram/stoppable_sort.h"
#include "text/unigram/suffix_order.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kMany =
    std::numeric_limits<std::uint32_t>::max();  // characters, or the begin of a word
constexpr std::uint32_t kStopMask = (1 << 16) - 1;

/// A range of the suffix order whose texts have `length` characters in common.
struct Range {
  std::uint32_t begin;
  std::uint32_t length;
  std::uint32_t before;  // the character in front of all of them, or kMany
  std::uint64_t count;

  void Join(const Range& other) {
    count += other.count;
    if (before != other.before) before = kMany;
  }
};

class SeedFinder {
 public:
  SeedFinder(const TrainingWords& words, const std::vector<std::uint32_t>& order, const SeedRules& rules)
      : words_(words), order_(order), rules_(rules), word_of_(words.symbols.size()) {
    for (std::uint32_t word = 0; word < words.size(); ++word)
      std::fill(word_of_.begin() + words.begins[word], word_of_.begin() + words.begins[word + 1], word);
  }

  /// Goes through the order once. The open ranges lie in each other, the outermost first.
  bool Run(const std::stop_token& stop) {
    std::uint32_t shared = 0;  // with the suffix before
    for (std::uint32_t at = 0; at < order_.size(); ++at) {
      if ((at & kStopMask) == 0 && stop.stop_requested()) return false;
      const std::uint32_t next =
          at + 1 == order_.size() ? 0
                                  : CommonCharacters(words_, order_[at], order_[at + 1], rules_.max_length);
      Range closed = Alone(at);
      if (closed.before == kMany && std::max(shared, next) < closed.length) Take(closed, at + 1);
      while (!open_.empty() && open_.back().length > next) {
        open_.back().Join(closed);
        closed = open_.back();
        open_.pop_back();
        // A text behind a character is a piece with it, unless that would be too long.
        if (closed.before == kMany || closed.length == rules_.max_length) Take(closed, at + 1);
      }
      if (!open_.empty() && open_.back().length == next) {
        open_.back().Join(closed);
      } else if (next > 0) {
        closed.length = next;
        open_.push_back(closed);
      }
      shared = next;
    }
    return true;
  }

  std::optional<std::vector<SeedPiece>> Best(const std::stop_token& stop) {
    const auto better = [](const SeedPiece& a, const SeedPiece& b) {
      return std::tuple(b.count * b.length, a.begin, a.length) <
             std::tuple(a.count * a.length, b.begin, b.length);
    };
    const std::size_t kept = std::min(found_.size(), rules_.most);
    std::nth_element(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(kept), found_.end(),
                     better);
    found_.resize(kept);
    std::vector<SeedPiece> buffer;
    if (!SortUnlessStopped(found_, buffer, better, stop)) return std::nullopt;
    return std::move(found_);
  }

 private:
  /// The suffix at `at` as a range of its own.
  Range Alone(std::uint32_t at) const {
    const std::uint32_t position = order_[at], word = word_of_[position];
    const std::uint32_t left = words_.begins[word + 1] - 1 - position;
    const bool first = position == words_.begins[word];
    return {at, left, first ? kMany : words_.symbols[position - 1], words_.counts[word]};
  }

  void Take(const Range& range, std::uint32_t end) {
    if (range.length >= 2 && range.length <= rules_.max_length && range.count >= rules_.least_count)
      found_.push_back({range.begin, end, range.length, range.count});
  }

  const TrainingWords& words_;
  const std::vector<std::uint32_t>& order_;
  const SeedRules rules_;
  std::vector<std::uint32_t> word_of_;  // by position
  std::vector<Range> open_;
  std::vector<SeedPiece> found_;
};

}  // namespace

std::optional<std::vector<SeedPiece>> FindSeeds(const TrainingWords& words,
                                                const std::vector<std::uint32_t>& order,
                                                const SeedRules& rules, const std::stop_token& stop) {
  SeedFinder finder(words, order, rules);
  if (!finder.Run(stop)) return std::nullopt;
  return finder.Best(stop);
}

}  // namespace pipeline
