#include "text/sentencepiece/piece_trie.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace pipeline {

namespace {

constexpr std::size_t kTries = 512;  // places for the children of one unit, before they go to the end
constexpr std::int32_t kNobody = std::numeric_limits<std::int32_t>::max();  // the parent of the root

}  // namespace

/// Places the children of one unit after the other, at the first place where all of them are free.
class PieceTrie::Builder {
 public:
  /// A base may lie up to `labels` before the first unit and a step up to `labels` behind its base, so that
  /// many units at both ends stay free and a step needs no check of bounds.
  Builder(std::vector<Unit>& units, std::vector<Key> keys, std::uint32_t labels)
      : units_(units), keys_(std::move(keys)), margin_(labels + 1) {
    std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) { return a.labels < b.labels; });
  }

  std::int32_t Run() {
    Grow(2 * margin_ + 1);
    const auto root = static_cast<std::int32_t>(margin_);
    Take(root, kNobody);
    std::vector<Open> open = {{root, 0, keys_.size(), 0}};
    for (std::size_t at = 0; at < open.size(); ++at) {  // by depth, so that the frequent units lie together
      const Open one = open[at];
      Place(one, open);
    }
    units_.resize(last_ + margin_ + 1);
    units_.shrink_to_fit();
    return root;
  }

 private:
  /// A unit whose children have no place yet; it covers keys from `begin` to `end`.
  struct Open {
    std::int32_t unit;
    std::size_t begin, end, depth;
  };

  void Place(const Open& one, std::vector<Open>& open) {
    std::size_t at = one.begin;
    Unit& unit = units_[static_cast<std::size_t>(one.unit)];
    if (at < one.end && keys_[at].labels.size() == one.depth) {
      unit.value = keys_[at].value;
      unit.score = keys_[at].score;
      ++at;
    }
    children_.clear();
    std::vector<std::size_t> begins;
    for (; at < one.end; ++at) {
      const std::uint32_t label = keys_[at].labels[one.depth];
      if (children_.empty() || children_.back() != label) children_.push_back(label), begins.push_back(at);
    }
    if (children_.empty()) return;
    begins.push_back(one.end);
    const std::int32_t base = Find();
    units_[static_cast<std::size_t>(one.unit)].base = base;
    for (std::size_t child = 0; child < children_.size(); ++child) {
      const std::int32_t place = base + static_cast<std::int32_t>(children_[child]);
      Take(place, one.unit);
      open.push_back({place, begins[child], begins[child + 1], one.depth + 1});
    }
  }

  /// Returns a base at which all places of `children_` are free.
  std::int32_t Find() {
    std::size_t tries = 0;
    for (std::size_t place = first_free_; tries < kTries; ++place, ++tries) {
      place = NextFree(place);
      const std::int32_t base =
          static_cast<std::int32_t>(place) - static_cast<std::int32_t>(children_.front());
      Grow(place + children_.back() + margin_);
      if (std::all_of(children_.begin() + 1, children_.end(), [&](std::uint32_t label) {
            return units_[static_cast<std::size_t>(base + static_cast<std::int32_t>(label))].check < 0;
          }))
        return base;
    }
    Grow(last_ + 1 + children_.back() + margin_);
    return static_cast<std::int32_t>(last_ + 1) - static_cast<std::int32_t>(children_.front());
  }

  std::size_t NextFree(std::size_t place) {
    for (;; ++place) {
      Grow(place + 1);
      if (units_[place].check < 0) return place;
    }
  }

  void Take(std::int32_t place, std::int32_t parent) {
    const auto at = static_cast<std::size_t>(place);
    Grow(at + 1);
    units_[at].check = parent;
    last_ = std::max(last_, at);
    if (first_free_ < margin_) first_free_ = margin_;
    while (first_free_ < units_.size() && units_[first_free_].check >= 0) ++first_free_;
  }

  void Grow(std::size_t count) {
    if (count > units_.size()) units_.resize(std::max(count, units_.size() + units_.size() / 2));
  }

  std::vector<Unit>& units_;
  std::vector<Key> keys_;
  const std::size_t margin_;
  std::size_t first_free_ = 0, last_ = 0;
  std::vector<std::uint32_t> children_;
};

void PieceTrie::Build(std::vector<Key> keys, std::uint32_t labels) {
  units_.clear();
  root_ = Builder(units_, std::move(keys), labels).Run();
}

}  // namespace pipeline
