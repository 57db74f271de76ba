// Counts requests as a bucket does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/forwarding_store.h"

namespace pipeline {

class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    ++creations;
    if (created) created(name);
    return ForwardingStore::Create(name, std::move(condition));
  }
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ++reads;
    return ForwardingStore::Open(name);
  }
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    ++reads;
    return ForwardingStore::OpenKnown(known);
  }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override {
    Result<std::vector<ObjectInfo>> listed = ForwardingStore::List(prefix);
    pages += listed->size() / 1000 + 1;
    return listed;
  }
  Status Remove(std::string_view name) override {
    ++removals;
    return ForwardingStore::Remove(name);
  }
  /// A request takes a hundred objects in known states, or one in any state.
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override {
    std::size_t known = 0;
    for (const ObjectInfo& object : objects) known += object.version.empty() ? 0 : 1;
    removals += (known + 99) / 100 + objects.size() - known;
    removed_objects += objects.size();
    return ForwardingStore::RemoveAll(objects, removed);
  }
  std::function<void(std::string_view name)> created = {};  // hears of each creation; set it before any
  std::atomic<std::size_t> removed_objects = 0;
  std::atomic<std::size_t> creations = 0, reads = 0, pages = 0, removals = 0;
};

}  // namespace pipeline
