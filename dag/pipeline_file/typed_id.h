// Positions in vectors, as types: the position of one kind of element is never taken for that of another.
#pragma once

#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipeline {

/// The position of an element of the kind `Tag`. If it may be absent: std::optional.
template <typename Tag>
class TypedId {
 public:
  constexpr explicit TypedId(std::size_t index) : index_(index) {}
  constexpr std::size_t index() const { return index_; }
  constexpr auto operator<=>(const TypedId&) const = default;

 private:
  std::size_t index_;
};

/// A vector whose elements have ids of the type `Id`.
template <typename Id, typename T>
class IdVector {
 public:
  using Items = std::vector<T>;

  IdVector() = default;
  explicit IdVector(std::size_t size) : items_(size) {}
  IdVector(std::size_t size, const T& value) : items_(size, value) {}

  typename Items::reference operator[](Id id) { return items_[id.index()]; }
  typename Items::const_reference operator[](Id id) const { return items_[id.index()]; }

  /// Returns the id of the new element.
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id(items_.size() - 1);
  }
  /// All ids, in order.
  std::vector<Id> ids() const {
    std::vector<Id> ids;
    for (std::size_t index = 0; index < items_.size(); ++index) ids.push_back(Id(index));
    return ids;
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto begin() const { return items_.begin(); }
  auto end() { return items_.end(); }
  auto end() const { return items_.end(); }

 private:
  Items items_;
};

}  // namespace pipeline
