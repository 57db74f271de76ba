// Counts requests as a bucket does.
#pragma once

#include <atomic>
#include <memory>
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
    return ForwardingStore::Create(name, std::move(condition));
  }
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ++reads;
    return ForwardingStore::Open(name);
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
  std::atomic<std::size_t> creations = 0, reads = 0, pages = 0, removals = 0;
};

}  // namespace pipeline
