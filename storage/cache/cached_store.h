// A store whose objects are also in a cache of this machine: each block of a remote object arrives once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/cache/object_cache.h"
#include "storage/forwarding_store.h"

namespace pipeline {

/// Reads what the cache has from there, and stores in it what arrives and what is written. Names, versions
/// and failures are those of the inner store: each Open asks it for the present version. OpenKnown asks for
/// nothing; a state that is gone is noticed at the first block that is not here. Files and writers may
/// outlive the store, not the cache. Objects without a version are not cached.
class CachedStore final : public ForwardingStore {
 public:
  /// `location` names the inner store among all that use the cache. `cache` outlives the store.
  CachedStore(std::shared_ptr<Store> inner, std::string location, ObjectCache& cache)
      : ForwardingStore(*inner), inner_(std::move(inner)), location_(std::move(location)), cache_(cache) {}

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;

 private:
  /// Null: the state is not cached.
  std::unique_ptr<ByteFile> Cached(const ObjectInfo& known);

  const std::shared_ptr<Store> inner_;  // shared with the files
  const std::string location_;
  ObjectCache& cache_;
};

}  // namespace pipeline
