// A trie over sequences of small numbers, as a double array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipeline {

/// Immutable after Build. A state is a unit. Labels are 1 to `labels`.
class PieceTrie {
 public:
  struct Unit {
    std::int32_t base = 0;    // the child with label L is at base + L
    std::int32_t check = -1;  // the parent; -1: the unit is free
    std::int32_t value = -1;  // of the key that ends here; -1: none does
    float score = 0;
  };
  struct Key {
    std::vector<std::uint32_t> labels;  // not empty
    std::int32_t value = 0;             // at least 0
    float score = 0;
  };

  /// Keys differ. The same keys give the same units.
  void Build(std::vector<Key> keys, std::uint32_t labels);

  std::int32_t root() const { return root_; }
  const Unit* units() const { return units_.data(); }
  /// Goes from a state along a label from 0 to `labels`; label 0 leads nowhere.
  bool Step(std::int32_t& state, std::uint32_t label) const {
    const std::int32_t next = units_[static_cast<std::size_t>(state)].base + static_cast<std::int32_t>(label);
    if (units_[static_cast<std::size_t>(next)].check != state) return false;
    state = next;
    return true;
  }
  const Unit& at(std::int32_t state) const { return units_[static_cast<std::size_t>(state)]; }
  std::uint64_t memory() const { return units_.capacity() * sizeof(Unit); }

 private:
  class Builder;

  std::vector<Unit> units_;
  std::int32_t root_ = 0;
};

}  // namespace pipeline
