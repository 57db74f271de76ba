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
  /// no version or checksum. Small objects of a BundleStore that may replace anything wait in memory, 4 MiB
  /// at most, and become a bundle. The group and `store` outlive the returned store.
  std::unique_ptr<Store> Join(Store& store);

  /// Number of objects that wait for Commit.
  std::size_t size() const;
  /// Makes all objects visible and durable, in the order in which they were added, and bundles at the end.
  /// Returns the outcome of each object, in that order. A failed object stops no other one, but those of a
  /// bundle fail together.
  std::vector<Status> Commit(const std::stop_token& stop = {});

 private:
  class GroupStore;
  class GroupWriter;
  struct Added;
  static std::vector<Status> CommitWriters(const std::vector<Added>& added, const std::stop_token& stop);

  std::vector<Added> added_;
  std::size_t held_ = 0;  // bytes for bundles
};

}  // namespace pipeline
