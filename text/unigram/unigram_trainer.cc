#include "text/unigram/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/str.h"
#include "text/unigram/exact_math.h"
#include "text/unigram/expected_counts.h"
#include "text/unigram/piece_lattice.h"
#include "text/unigram/piece_losses.h"
#include "text/unigram/seed_pieces.h"
#include "text/unigram/suffix_order.h"
#include "text/unigram/training_words.h"
#include "text/vocabulary_sizes.h"

namespace pipeline {

namespace {

Status Stopped() { return Status(Code::kCancelled, "stopped"); }

/// Returns all texts of several characters that may become pieces, with the words. Sets `rules.pieces` if the
/// words decide it.
Result<PieceLattice> FirstPieces(const CountedWords& counts, UnigramRules& rules,
                                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(TrainingWords words, MakeTrainingWords(counts,
                                                          {.coverage = rules.character_coverage,
                                                           .required = rules.required_characters,
                                                           .reserved = rules.reserved_texts},
                                                          stop));
  if (words.size() == 0)
    return Status(Code::kFailedPrecondition, "there is no text to train on; is the split `train` empty?");
  const std::size_t characters = words.characters.size() - 1;
  if (rules.fewer_will_do && characters > rules.pieces)
    return Status(
        Code::kFailedPrecondition,
        StrCat("vocab_size: ", rules.pieces + rules.other_pieces,
               " is too few: the special pieces and the characters that character_coverage ", "asks for are ",
               characters + rules.other_pieces, " already; take more, or a lower character_coverage"));
  const SeedRules seed_rules = {.most = rules.seeds,
                                .max_length = static_cast<std::uint32_t>(rules.max_characters)};
  const auto order = SuffixOrder(words, seed_rules.max_length, rules.threads, stop);
  if (!order) return Stopped();
  const auto seeds = FindSeeds(words, *order, seed_rules, stop);
  if (!seeds) return Stopped();
  if (!rules.fewer_will_do) {
    const std::size_t all = characters + seeds->size();
    if (rules.as_many_as_there_are) rules.pieces = std::min(rules.pieces, all);
    const VocabularySizes sizes = {characters + rules.other_pieces, all + rules.other_pieces};
    if (const std::size_t wanted = rules.pieces + rules.other_pieces; !sizes.contains(wanted))
      return RefuseVocabularySize(wanted, rules.as_many_as_there_are, sizes);
  }
  return PieceLattice::Make(std::move(words), *seeds, *order, rules.memory, stop);
}

class Trainer {
 public:
  Trainer(PieceLattice lattice, const UnigramRules& rules, std::stop_token stop)
      : lattice_(std::move(lattice)), rules_(rules), stop_(std::move(stop)), first_size_(lattice_.size()) {}

  Result<std::vector<UnigramPiece>> Run() {
    while (true) {
      RETURN_IF_ERROR(Expect());
      if (left_ <= rules_.pieces) break;
      RETURN_IF_ERROR(Prune());
    }
    return Pieces();
  }

 private:
  Status Expect() {
    for (int round = 0; round < rules_.rounds_of_expectation; ++round) {
      const auto counts = ExpectedCounts(lattice_, rules_.threads, stop_);
      if (!counts) return Stopped();
      left_ = SetShares(*counts, rules_.pieces, lattice_);
    }
    return {};
  }

  Status Prune() {
    const auto losses = PieceLosses(lattice_, rules_.threads, stop_);
    if (!losses) return Stopped();
    const auto kept = static_cast<std::size_t>(static_cast<double>(left_) * rules_.shrink_factor);
    // A rough model may have fewer pieces than it wants.
    KeepBest(*losses, std::max(kept, rules_.pieces), rules_.fewer_will_do ? 0 : rules_.pieces, lattice_);
    if (rules_.progress)
      rules_.progress(first_size_ - lattice_.size(), first_size_ - std::min(first_size_, rules_.pieces));
    return {};
  }

  std::vector<UnigramPiece> Pieces() const {
    std::vector<UnigramPiece> pieces;
    for (std::uint32_t piece = 1; piece < lattice_.pieces().size(); ++piece)
      if (const double share = lattice_.pieces()[piece].share; share > 0)
        pieces.push_back({lattice_.TextOf(piece), static_cast<float>(ExactLog(share))});
    std::sort(pieces.begin(), pieces.end(), [](const UnigramPiece& a, const UnigramPiece& b) {
      return std::tie(b.score, a.text) < std::tie(a.score, b.text);
    });
    return pieces;
  }

  PieceLattice lattice_;
  const UnigramRules& rules_;
  const std::stop_token stop_;
  const std::size_t first_size_;
  std::size_t left_ = 0;  // pieces
};

}  // namespace

std::uint64_t UnigramMemory(std::uint64_t characters, std::uint64_t words, std::uint64_t words_memory) {
  // The greatest step is the lattice, or the seeds before it: text/unigram/trainer.md, "Memory".
  const std::uint64_t positions = characters + words;
  return words_memory + 32 * positions + 48 * words + 32 * std::min<std::uint64_t>(positions, 1'000'000);
}

Result<std::vector<UnigramPiece>> TrainUnigram(const CountedWords& words, const UnigramRules& rules,
                                               std::stop_token stop) {
  UnigramRules decided = rules;
  ASSIGN_OR_RETURN(PieceLattice lattice, FirstPieces(words, decided, stop));
  return Trainer(std::move(lattice), decided, std::move(stop)).Run();
}

}  // namespace pipeline
