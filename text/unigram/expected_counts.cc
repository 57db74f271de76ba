#include "text/unigram/expected_counts.h"

#include <algorithm>
#include <cmath>

#include "text/unigram/exact_math.h"
#include "text/unigram/parallel_blocks.h"

namespace pipeline {

namespace {

constexpr double kLeastCount = 0.5;
// Products of shares in a long word would become 0: they are multiplied by kScale as soon as all of them are
// small.
constexpr double kSmall = 0x1p-256, kScale = 0x1p256;
constexpr int kSumBits = 62;

class WordExpectation {
 public:
  WordExpectation(const PieceLattice& lattice, double unit)
      : lattice_(lattice),
        unit_(unit),
        sums_(lattice.pieces().size(), 0),
        forward_(lattice.longest_word() + 1),
        backward_(lattice.longest_word() + 1),
        scalings_(lattice.longest_word() + 1) {
    for (const PieceLattice::Piece& piece : lattice.pieces()) reach_ = std::max(reach_, piece.length);
  }

  void Add(const PieceLattice::Block& block) {
    for (std::uint32_t word = block.begin; word < block.end; ++word) {
      const TrainingWords& words = lattice_.words();
      AddWord(words.begins[word], words.length(word), static_cast<double>(words.counts[word]) * unit_);
    }
  }

  const std::vector<std::int64_t>& sums() const { return sums_; }

 private:
  static std::int64_t Rounded(double number) { return static_cast<std::int64_t>(number + 0.5); }

  /// Returns the number of scalings. forward_[at] is the probability of the text before `at`.
  std::uint32_t GoForward(std::uint32_t begin, std::uint32_t length) {
    const PieceLattice::Piece* const pieces = lattice_.pieces().data();
    const std::uint32_t* const symbols = lattice_.words().symbols.data() + begin;
    double* const forward = forward_.data();
    std::fill_n(forward, length + 1, 0.0);
    forward[0] = 1;
    std::uint32_t scalings = 0;
    for (std::uint32_t at = 0; at < length; ++at) {
      if (forward[at] < kSmall) scalings += ScaleAt(at, length);
      scalings_[at] = scalings;
      const double here = forward[at];
      forward[at + 1] += here * pieces[symbols[at]].share;
      for (const std::uint32_t edge : lattice_.At(begin + at))
        forward[at + pieces[edge].length] += here * pieces[edge].share;
    }
    scalings_[length] = scalings;
    return scalings;
  }

  std::uint32_t ScaleAt(std::uint32_t at, std::uint32_t length) {
    double* const first = forward_.data() + at;
    double* const last = forward_.data() + std::min(length, at + reach_) + 1;
    if (*std::max_element(first, last) >= kSmall) return 0;
    for (double* number = first; number < last; ++number) *number *= kScale;
    return 1;
  }

  void AddWord(std::uint32_t begin, std::uint32_t length, double count) {
    const PieceLattice::Piece* const pieces = lattice_.pieces().data();
    const std::uint32_t* const symbols = lattice_.words().symbols.data() + begin;
    if (length == 1) {
      sums_[symbols[0]] += Rounded(count);
      return;
    }
    const bool is_scaled = GoForward(begin, length) > 0;
    const double* const forward = forward_.data();
    double* const backward = backward_.data();
    std::int64_t* const sums = sums_.data();
    backward[length] = count / forward[length];
    for (std::uint32_t at = length; at-- > 0;) {
      const double here = forward[at];
      double behind = pieces[symbols[at]].share * Behind(at, at + 1, is_scaled);
      double sum = behind;
      sums[symbols[at]] += Rounded(here * behind);
      for (const std::uint32_t edge : lattice_.At(begin + at)) {
        behind = pieces[edge].share * Behind(at, at + pieces[edge].length, is_scaled);
        sum += behind;
        sums[edge] += Rounded(here * behind);
      }
      backward[at] = sum;
    }
  }

  /// backward_[end], as it fits to forward_[begin]: both are scaled where the text before them is.
  double Behind(std::uint32_t begin, std::uint32_t end, bool is_scaled) const {
    double number = backward_[end];
    if (is_scaled)
      for (std::uint32_t scaling = scalings_[begin]; scaling < scalings_[end]; ++scaling) number *= kScale;
    return number;
  }

  const PieceLattice& lattice_;
  const double unit_;
  std::uint32_t reach_ = 1;  // characters of the longest piece
  std::vector<std::int64_t> sums_;
  std::vector<double> forward_, backward_;
  std::vector<std::uint32_t> scalings_;
};

/// Returns how many units one piece is: as many as let the sum of all pieces fit.
double UnitsOf(const TrainingWords& words) {
  double characters = 1;
  for (std::size_t word = 0; word < words.size(); ++word)
    characters += static_cast<double>(words.counts[word]) * words.length(word);
  return std::ldexp(1, kSumBits - 1 - std::ilogb(characters));
}

}  // namespace

std::optional<std::vector<double>> ExpectedCounts(const PieceLattice& lattice, std::size_t threads,
                                                  const std::stop_token& stop) {
  const double unit = UnitsOf(lattice.words());
  const std::size_t used = std::max<std::size_t>(std::min(threads, lattice.blocks().size()), 1);
  std::vector<WordExpectation> parts;
  parts.reserve(used);
  for (std::size_t thread = 0; thread < used; ++thread) parts.emplace_back(lattice, unit);
  if (!ForEachBlock(lattice.blocks().size(), used, stop, [&](std::size_t block, std::size_t thread) {
        parts[thread].Add(lattice.blocks()[block]);
      }))
    return std::nullopt;
  std::vector<double> counts(lattice.pieces().size(), 0);
  for (std::size_t piece = 0; piece < counts.size(); ++piece) {
    std::int64_t sum = 0;
    for (const WordExpectation& part : parts) sum += part.sums()[piece];
    counts[piece] = static_cast<double>(sum) / unit;
  }
  return counts;
}

std::size_t SetShares(const std::vector<double>& counts, std::size_t wanted, PieceLattice& lattice) {
  std::vector<PieceLattice::Piece>& pieces = lattice.pieces();
  std::size_t left = lattice.characters(), rare = 0;
  for (std::size_t piece = left + 1; piece < pieces.size(); ++piece)
    if (pieces[piece].share > 0) ++(counts[piece] < kLeastCount ? rare : left);
  const bool rare_stay = left < wanted;
  if (rare_stay) left += rare;
  const auto count_of = [&](std::size_t piece) {
    if (counts[piece] >= kLeastCount) return counts[piece];
    const bool stays = piece <= lattice.characters() || (rare_stay && pieces[piece].share > 0);
    return stays ? kLeastCount : 0;
  };
  double sum = 0;
  for (std::size_t piece = 1; piece < pieces.size(); ++piece) sum += count_of(piece);
  const double whole = ExpDigamma(sum);
  for (std::size_t piece = 1; piece < pieces.size(); ++piece) {
    const double count = count_of(piece);
    pieces[piece].share = count > 0 ? ExpDigamma(count) / whole : 0;
  }
  return left;
}

}  // namespace pipeline
