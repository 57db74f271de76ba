// Makes instances from sentences: pairs and masks, as create_pretraining_data.py of google-research/bert
// does. Rules: stages/export/bert/bert.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "dag/records/batch.h"
#include "stages/export/bert/bert.h"
#include "stages/export/bert/bert_documents.h"

namespace pipeline {

struct BertRules {
  BertLengths lengths = {};
  double masked_share = 0.15;
  double short_share = 0.1;
  bool next_sentence = true;
  std::uint64_t seed = 0;
  // Of the vocabulary.
  std::uint32_t vocab_size = 0;
  std::uint32_t cls_id = 0;
  std::uint32_t sep_id = 0;
  std::uint32_t mask_id = 0;
};

/// A random generator that depends only on its key and on the number of calls.
class CountedRandom {
 public:
  explicit CountedRandom(std::uint64_t key) : state_(key) {}
  std::uint64_t Next();
  /// Less than `bound`; `bound` is above 0.
  std::uint32_t Below(std::uint32_t bound);
  bool Chance(double probability);

 private:
  std::uint64_t state_;
};

/// Makes the instances of one partition's part of one split. One thread at a time.
class BertInstances {
 public:
  using Take = std::function<Status(const BertInstance& instance)>;

  BertInstances(const BertRules& rules, const BertDocuments& documents, PartitionId partition,
                std::uint8_t split);
  /// Makes all instances of one pass over the documents; each is valid during its call.
  Status MakePass(std::uint32_t pass, const Take& take);

  struct Counts {
    std::uint64_t instances = 0;
    std::uint64_t masks = 0;
    std::uint64_t random_next = 0;
    std::uint64_t only_sentence = 0;  // instances of random_next because a second sentence was missing
    std::uint64_t short_targets = 0;  // documents (without pairs: instances) that were chosen to be short
  };
  const Counts& counts() const { return counts_; }

 private:
  CountedRandom RandomOf(std::size_t document, std::uint32_t pass) const;
  std::size_t Target(std::size_t most, CountedRandom& random);
  Status MakePairs(std::size_t document, CountedRandom& random, const Take& take);
  Status MakeFullSentences(std::uint32_t pass, const Take& take);
  IdRange RandomNext(std::size_t document, std::size_t target, CountedRandom& random) const;
  Status Finish(bool random_next, std::size_t first_segment, CountedRandom& random, const Take& take);
  void Mask(CountedRandom& random);

  const BertRules rules_;
  const BertDocuments& documents_;
  const std::uint64_t key_;
  Counts counts_;
  // The current instance.
  std::vector<std::uint32_t> ids_;    // with kJoins until it is masked
  std::vector<std::uint32_t> words_;  // start in ids_ of each word that may be masked
  std::vector<std::uint32_t> word_lengths_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> positions_, labels_;
};

}  // namespace pipeline
