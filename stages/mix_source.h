// The records of a mixture, out of the partitions of its corpora. Rules: stages/mix.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "records/gather_stage.h"
#include "records/intermediate.h"
#include "records/schema.h"
#include "records/source.h"

namespace pipeline {

enum class MixUnit : std::uint8_t { kDocuments, kBytes, kTokens };

struct MixRules {
  MixUnit unit = MixUnit::kDocuments;
  std::vector<double> weights;        // of each corpus, above 0
  std::vector<double> epochs;         // parallel: how often a document may come, above 0
  std::optional<std::uint64_t> size;  // of the mixture in units; absent: the most that `epochs` allow
  std::uint64_t seed = 0;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
};

struct Corpus {
  std::string stage;  // that keeps it
  std::shared_ptr<Store> directory;
  std::vector<Piece> pieces;  // by id
};

/// How often a document of each corpus comes, from the sizes of their trains in units. kFailedPrecondition
/// where a corpus has nothing, or too little for `size`; it is named.
Result<std::vector<double>> MixRates(const MixRules& rules, const std::vector<Corpus>& corpora,
                                     const std::vector<std::uint64_t>& sizes);

/// Reads corpora once for their tokens where these are the unit, and then as often as their rates say. What a
/// mixture is asked for comes with `request`, but no pieces. `format` outlives the Source.
Result<std::unique_ptr<Source>> OpenMix(const MixRules& rules, const std::vector<Corpus>& corpora,
                                        const IntermediateFormat& format, const Schema& schema,
                                        GatherRequest request);

}  // namespace pipeline
