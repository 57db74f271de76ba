// The step of expectation: how often each piece is expected in the text, over all ways through its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "text/unigram/piece_lattice.h"

namespace pipeline {

/// Returns the expected number of each piece by its number. The sums are integers in a unit of less than 2^-9
/// of a piece, so that the order of the words, and so the number of threads, is without effect. Nothing:
/// stopped.
std::optional<std::vector<double>> ExpectedCounts(const PieceLattice& lattice, std::size_t threads,
                                                  const std::stop_token& stop);

/// The step of maximisation: sets the shares of all pieces to those of the counts, with the sparse prior of
/// variational Bayes, exp(digamma(count)) / exp(digamma(sum)). A piece of several characters that is expected
/// less than half a time is gone afterwards, unless fewer than `wanted` pieces would be left; it counts as
/// half a time then, as a character does. Returns the number of pieces that are left.
std::size_t SetShares(const std::vector<double>& counts, std::size_t wanted, PieceLattice& lattice);

}  // namespace pipeline
