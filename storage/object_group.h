// Objects that are committed together: the syncs of many cost little more than those of one.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "storage/store.h"

namespace pipeline {

/// One thread at a time. If it is destroyed, objects without Commit leave nothing.
class ObjectGroup {
 public:
  ObjectGroup();
  ~ObjectGroup();
  ObjectGroup(const ObjectGroup&) = delete;
  ObjectGroup& operator=(const ObjectGroup&) = delete;

  /// Returns `store` with other writers: their Commit only adds the object to this group, and its result has
  /// no version or checksum. The group and `store` outlive the returned store.
  std::unique_ptr<Store> Join(Store& store);

  /// Number of objects that wait for Commit.
  std::size_t size() const;
  /// Makes all objects visible, in the order in which they were added, and durable. Returns the outcome of
  /// each, in that order; a failed object stops no other one.
  std::vector<Status> Commit(const std::stop_token& stop = {});

 private:
  class GroupStore;
  class GroupWriter;
  struct Added;
  std::vector<Added> added_;
};

}  // namespace pipeline
