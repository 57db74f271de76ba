// How much the text loses with each piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "text/unigram/piece_lattice.h"

namespace pipeline {

/// Returns for each piece of several characters by how many nats the logarithm of the probability of all
/// words falls if the best way without the piece takes its place everywhere; negative: no best way has the
/// piece. Nothing: stopped.
std::optional<std::vector<double>> PieceLosses(const PieceLattice& lattice, std::size_t threads,
                                               const std::stop_token& stop);

/// Keeps the characters and the pieces with the greatest losses, `most` in all. Those with a negative loss
/// stay only if there would be less than `least`, the ones with the greatest shares first. The number of a
/// piece decides between equals.
void KeepBest(const std::vector<double>& losses, std::size_t most, std::size_t least, PieceLattice& lattice);

}  // namespace pipeline
