// Weights for tests: in each document the ids behind the first large one are scored.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "stages/export/packed/row_packer.h"

namespace pipeline {

class AfterFirst final : public TargetWeights {
 public:
  /// The first id that is at least `least` opens the rest of its document.
  explicit AfterFirst(std::uint32_t least) : least_(least) {}

  void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) override {
    for (const std::uint32_t id : ids) {
      weights.push_back(open_);
      open_ = open_ || id >= least_;
    }
  }
  bool WeighEnd(bool of_document) override {
    const bool scored = open_;
    open_ = open_ && !of_document;
    return scored;
  }

 private:
  const std::uint32_t least_;
  bool open_ = false;
};

inline ChooseWeights ChooseAfterFirst(std::uint32_t least) {
  return [least](const StageContext&, const TokenizerFacts&) {
    return Result<WeightRule>(
        WeightRule{[least] { return std::make_unique<AfterFirst>(least); }, "no id opens it"});
  };
}

}  // namespace pipeline
