#include "text/unigram/piece_lattice.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kBlockSymbols = 1 << 14;

}  // namespace

Result<PieceLattice> PieceLattice::Make(TrainingWords words, std::span<const SeedPiece> seeds,
                                        const std::vector<std::uint32_t>& order, std::uint64_t memory,
                                        const std::stop_token& stop) {
  PieceLattice lattice(std::move(words));
  const TrainingWords& text = lattice.words_;
  std::vector<Piece>& pieces = lattice.pieces_;
  pieces.assign(text.characters.size(), {0, 1, 0});
  for (std::size_t word = 0; word < text.size(); ++word)
    for (std::uint32_t at = text.begins[word]; at + 1 < text.begins[word + 1]; ++at)
      pieces[text.symbols[at]].share += static_cast<double>(text.counts[word]);
  std::uint64_t edges = 0;
  for (const SeedPiece& seed : seeds) {
    pieces.push_back({static_cast<double>(seed.count) * seed.length, seed.length, order[seed.begin]});
    edges += seed.end - seed.begin;
  }
  if (edges > std::numeric_limits<std::uint32_t>::max())
    return Status(
        Code::kResourceExhausted,
        "the first pieces have more than 2^32 occurrences in the distinct words; train on a smaller sample");
  const std::uint64_t needed = 12 * text.symbols.size() + 8 * text.size() + 4 * edges + 40 * seeds.size();
  if (memory != 0 && needed > memory)
    return Status(Code::kResourceExhausted,
                  StrCat("the first pieces occur ", edges, " times in the distinct words and need ",
                         HumanBytes(needed), " of memory, of ", HumanBytes(memory),
                         "; raise limits.memory, or take a lower max_piece_length"));
  double sum = 0;
  for (const Piece& piece : pieces) sum += piece.share;
  for (Piece& piece : pieces) piece.share /= sum;

  std::vector<std::uint32_t>& firsts = lattice.firsts_;
  firsts.assign(text.symbols.size() + 1, 0);
  for (const SeedPiece& seed : seeds) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    for (std::uint32_t at = seed.begin; at < seed.end; ++at) ++firsts[order[at] + 1];
  }
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  lattice.edges_.resize(edges);
  // firsts[p] moves to the end of p, which is the begin of p + 1, and is moved back afterwards.
  for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    for (std::uint32_t at = seeds[seed].begin; at < seeds[seed].end; ++at)
      lattice.edges_[firsts[order[at]]++] = static_cast<std::uint32_t>(text.characters.size() + seed);
  }
  std::copy_backward(firsts.begin(), firsts.end() - 1, firsts.end());
  firsts.front() = 0;
  lattice.MakeBlocks();
  return lattice;
}

void PieceLattice::MakeBlocks() {
  for (std::uint32_t word = 0; word < words_.size(); ++word) {
    longest_ = std::max(longest_, words_.length(word));
    if (blocks_.empty() || words_.begins[word] - words_.begins[blocks_.back().begin] >= kBlockSymbols)
      blocks_.push_back({word, word});
    blocks_.back().end = word + 1;
  }
}

std::string PieceLattice::TextOf(std::uint32_t piece) const {
  if (piece < words_.characters.size()) return words_.characters[piece];
  std::string text;
  for (std::uint32_t at = 0; at < pieces_[piece].length; ++at)
    text += words_.characters[words_.symbols[pieces_[piece].position + at]];
  return text;
}

void PieceLattice::Keep(const std::vector<bool>& kept) {
  std::vector<std::uint32_t> numbers(pieces_.size(), 0);  // 0: gone
  std::uint32_t size = 0;
  for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
    if (piece > characters() && !kept[piece]) continue;
    numbers[piece] = size;
    pieces_[size++] = pieces_[piece];
  }
  pieces_.resize(size);
  pieces_.shrink_to_fit();
  std::uint32_t to = 0, from = 0;
  for (std::size_t position = 0; position + 1 < firsts_.size(); ++position) {
    const std::uint32_t end = firsts_[position + 1];
    firsts_[position] = to;
    for (; from < end; ++from)
      if (const std::uint32_t number = numbers[edges_[from]]; number != 0) edges_[to++] = number;
  }
  firsts_.back() = to;
  edges_.resize(to);
}

}  // namespace pipeline
