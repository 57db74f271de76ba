// Mixes records of several corpora. Rules: stages/lines/mix.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dag/records/barrier_stage.h"
#include "dag/records/intermediate.h"
#include "dag/records/schema.h"
#include "dag/records/source.h"

namespace pipeline {

enum class MixUnit : std::uint8_t { kDocuments, kBytes, kTokens };

struct MixRules {
  MixUnit unit = MixUnit::kDocuments;
  std::vector<double> weights;        // per corpus, above 0
  std::vector<double> epochs;         // per corpus: maximum repetitions of a document, above 0
  std::optional<std::uint64_t> size;  // of the mixture in units; absent: the maximum that `epochs` allows
  std::uint64_t seed = 0;
  std::uint64_t partition_bytes = std::uint64_t{64} << 20;
};

struct Corpus {
  std::string stage;  // the stage whose partition files these are
  std::shared_ptr<Store> directory;
  std::vector<PartitionOutput> outputs;  // by id
};

/// Repetitions per corpus, from the size of its train split in units. kFailedPrecondition names a corpus
/// that is empty or too small for `size`.
Result<std::vector<double>> MixRates(const MixRules& rules, const std::vector<Corpus>& corpora,
                                     const std::vector<std::uint64_t>& sizes);

/// Opens the mixture. If the unit is tokens, first reads the corpora once to count them; then reads each as
/// often as its rate says. `request` has no partition outputs. `format` outlives the Source.
Result<std::unique_ptr<Source>> OpenMix(const MixRules& rules, const std::vector<Corpus>& corpora,
                                        const IntermediateFormat& format, const Schema& schema,
                                        BarrierRequest request);

}  // namespace pipeline
