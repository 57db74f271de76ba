#include "stages/export/bert/bert_instances.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/digest.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kIdBits = ~BertDocuments::kJoins;

}  // namespace

// SplitMix64 (Steele, Lea, Flood 2014): the n-th number is a mix of key + n times a constant.
std::uint64_t CountedRandom::Next() {
  std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return mixed ^ mixed >> 31;
}

std::uint32_t CountedRandom::Below(std::uint32_t bound) {
  const std::uint64_t number = Next();
  return static_cast<std::uint32_t>(((number >> 32) * bound + ((number & UINT32_MAX) * bound >> 32)) >> 32);
}

bool CountedRandom::Chance(double probability) {
  return static_cast<double>(Next() >> 11) * 0x1p-53 < probability;
}

BertInstances::BertInstances(const BertRules& rules, const BertDocuments& documents, PartitionId partition,
                             std::uint8_t split)
    : rules_(rules),
      documents_(documents),
      key_(Hasher()
               .UpdateU64(rules.seed)
               .UpdateU64(partition.input)
               .UpdateU64(partition.partition)
               .UpdateU64(split)
               .Finish()
               .low) {}

CountedRandom BertInstances::RandomOf(std::size_t document, std::uint32_t pass) const {
  return CountedRandom(
      Hasher().UpdateU64(key_).UpdateU64(documents_.number(document)).UpdateU64(pass).Finish().low);
}

Status BertInstances::MakePass(std::uint32_t pass, const Take& take) {
  if (!rules_.next_sentence) return MakeFullSentences(pass, take);
  for (std::size_t document = 0; document < documents_.size(); ++document) {
    CountedRandom random = RandomOf(document, pass);
    RETURN_IF_ERROR(MakePairs(document, random, take));
  }
  return {};
}

/// Returns the wanted length, usually `most`.
std::size_t BertInstances::Target(std::size_t most, CountedRandom& random) {
  if (!random.Chance(rules_.short_share)) return most;
  ++counts_.short_targets;
  return 2 + random.Below(static_cast<std::uint32_t>(most - 1));
}

Status BertInstances::MakePairs(std::size_t document, CountedRandom& random, const Take& take) {
  const std::size_t most = rules_.lengths.seq_len - std::size_t{3};  // [CLS], [SEP], [SEP]
  const std::size_t target = Target(most, random);
  const std::size_t sentences = documents_.sentences(document);
  std::size_t begin = 0;  // the first of the collected sentences
  std::size_t length = 0;
  for (std::size_t at = 0; at < sentences; ++at) {
    length += documents_.sentence(document, at).size();
    if (at + 1 < sentences && length < target) continue;
    const std::size_t collected = at + 1 - begin;
    std::size_t in_a = 1;
    if (collected >= 2) in_a += random.Below(static_cast<std::uint32_t>(collected - 1));
    IdRange a = {documents_.sentence(document, begin).begin,
                 documents_.sentence(document, begin + in_a - 1).end};
    IdRange b = {a.end, documents_.sentence(document, at).end};
    if (collected == 1) ++counts_.only_sentence;
    const bool random_next = collected == 1 || random.Chance(0.5);
    if (random_next) {
      b = RandomNext(document, target > a.size() ? target - a.size() : 0, random);
      at = begin + in_a - 1;  // unused sentences are collected again
    }
    begin = at + 1;
    length = 0;

    // The longer segment loses ids, at its front or at its end.
    while (a.size() + b.size() > most) {
      IdRange& longer = a.size() > b.size() ? a : b;
      if (random.Chance(0.5))
        ++longer.begin;
      else
        --longer.end;
    }
    ids_.assign(1, rules_.cls_id);
    documents_.Append(a, ids_);
    ids_.push_back(rules_.sep_id);
    const std::size_t first_segment = ids_.size();
    documents_.Append(b, ids_);
    ids_.push_back(rules_.sep_id);
    RETURN_IF_ERROR(Finish(random_next, first_segment, random, take));
  }
  return {};
}

/// Returns B from another document of the partition, or from the same one if ten draws give no other.
IdRange BertInstances::RandomNext(std::size_t document, std::size_t target, CountedRandom& random) const {
  std::size_t other = document;
  for (int tries = 0; tries < 10 && other == document; ++tries)
    other = random.Below(static_cast<std::uint32_t>(documents_.size()));
  const std::size_t sentences = documents_.sentences(other);
  std::size_t at = random.Below(static_cast<std::uint32_t>(sentences));
  IdRange b = documents_.sentence(other, at);
  while (b.size() < target && ++at < sentences) b.end = documents_.sentence(other, at).end;
  return b;
}

/// Makes instances of one segment of whole sentences. A segment continues in the next document, behind one
/// more [SEP].
Status BertInstances::MakeFullSentences(std::uint32_t pass, const Take& take) {
  const std::size_t most = rules_.lengths.seq_len - std::size_t{2};  // [CLS], [SEP]
  std::size_t target = 0;
  CountedRandom random(0);
  ids_.clear();
  std::size_t in_instance = 0;  // the document of the last of ids_
  const auto finish = [&]() -> Status {
    ids_.push_back(rules_.sep_id);
    const Status status = Finish(false, ids_.size(), random, take);
    ids_.clear();
    return status;
  };
  for (std::size_t document = 0; document < documents_.size(); ++document) {
    for (std::size_t number = 0; number < documents_.sentences(document); ++number) {
      IdRange sentence = documents_.sentence(document, number);
      while (sentence.size() > 0) {
        if (ids_.empty()) {
          random = CountedRandom(RandomOf(document, pass).Next() ^ (number << 32 | sentence.size()));
          target = Target(most, random);
          ids_.assign(1, rules_.cls_id);
          in_instance = document;
        }
        const std::size_t border = in_instance != document ? 1 : 0;
        const std::size_t used = ids_.size() - 1;
        std::size_t size = sentence.size();
        if (used + border + size > target) {
          if (used > 0) {
            RETURN_IF_ERROR(finish());
            continue;
          }
          size = std::min(size, target);  // a longer sentence continues in the next sequence
        }
        if (border > 0) ids_.push_back(rules_.sep_id);
        in_instance = document;
        documents_.Append({sentence.begin, sentence.begin + size}, ids_);
        sentence.begin += size;
      }
    }
  }
  return ids_.empty() ? Status() : finish();
}

Status BertInstances::Finish(bool random_next, std::size_t first_segment, CountedRandom& random,
                             const Take& take) {
  Mask(random);
  ++counts_.instances;
  counts_.masks += positions_.size();
  if (random_next) ++counts_.random_next;
  return take({ids_, static_cast<std::uint32_t>(first_segment), positions_, labels_, random_next});
}

/// Masks ids_ and removes kJoins from them.
void BertInstances::Mask(CountedRandom& random) {
  words_.clear(), word_lengths_.clear();
  bool after_special = true;
  for (std::uint32_t at = 0; at < ids_.size(); ++at) {
    const std::uint32_t id = ids_[at] & kIdBits;
    const bool joins = ids_[at] != id && !after_special;
    ids_[at] = id;
    after_special = id == rules_.cls_id || id == rules_.sep_id;
    if (after_special) continue;
    if (joins) {
      ++word_lengths_.back();
    } else {
      words_.push_back(at);
      word_lengths_.push_back(1);
    }
  }
  const auto rounded =
      static_cast<std::size_t>(std::nearbyint(static_cast<double>(ids_.size()) * rules_.masked_share));
  const std::size_t wanted =
      std::min<std::size_t>(rules_.lengths.predictions, std::max<std::size_t>(1, rounded));
  order_.resize(words_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  positions_.clear();
  for (std::size_t next = 0; next < order_.size() && positions_.size() < wanted; ++next) {
    const auto left = static_cast<std::uint32_t>(order_.size() - next);
    std::swap(order_[next], order_[next + random.Below(left)]);
    const std::uint32_t word = order_[next];
    if (positions_.size() + word_lengths_[word] > wanted) continue;
    for (std::uint32_t i = 0; i < word_lengths_[word]; ++i) positions_.push_back(words_[word] + i);
  }
  std::sort(positions_.begin(), positions_.end());
  labels_.clear();
  for (const std::uint32_t position : positions_) {
    labels_.push_back(ids_[position]);
    if (random.Chance(0.8))
      ids_[position] = rules_.mask_id;
    else if (!random.Chance(0.5))
      ids_[position] = random.Below(rules_.vocab_size);
  }
}

}  // namespace pipeline
