// A directory whose opened objects a test hears of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/forwarding_store.h"
#include "storage/local_store.h"

namespace pipeline {

class WatchedStore final : public ForwardingStore {
 public:
  /// `opens` is called before each Open, from any thread.
  WatchedStore(const std::string& place, std::function<void(const std::string& name)> opens)
      : ForwardingStore(store_), store_(place), opens_(std::move(opens)) {}

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    opens_(std::string(name));
    return ForwardingStore::Open(name);
  }
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    opens_(known.name);
    return ForwardingStore::OpenKnown(known);
  }

 private:
  LocalStore store_;
  const std::function<void(const std::string& name)> opens_;
};

}  // namespace pipeline
