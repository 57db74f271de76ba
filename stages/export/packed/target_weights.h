// Weights of targets: which ids of packed rows a loss counts. Their form in rows:
// stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/stage_context.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

/// Weighs the ids of one split of one partition, in the order of the corpus. One thread at a time.
class TargetWeights {
 public:
  virtual ~TargetWeights() = default;
  /// Appends a weight for each of the ids of the next line, without that of its end: true, if the id is a
  /// scored target.
  virtual void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) = 0;
  /// The weight of the id that ends this line, and its document if `of_document`.
  virtual bool WeighEnd(bool of_document) = 0;
};

/// How a configuration weighs targets.
struct WeightRule {
  /// Any thread may call it. Null: rows have no weights.
  std::function<std::unique_ptr<TargetWeights>()> open = {};
  /// Why a split may have no scored target, and the remedy: the end of a message.
  std::string nothing_scored = {};
};

using ChooseWeights =
    std::function<Result<WeightRule>(const StageContext& context, const TokenizerFacts& facts)>;

}  // namespace pipeline
