// A directory whose opened objects a test hears of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/local_store.h"

namespace pipeline {

class WatchedStore final : public Store {
 public:
  /// `opens` is called before each Open, from any thread.
  WatchedStore(const std::string& place, std::function<void(const std::string& name)> opens)
      : store_(place), opens_(std::move(opens)) {}

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    opens_(std::string(name));
    return store_.Open(name);
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    return store_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return store_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return store_.List(prefix); }
  Status Remove(std::string_view name) override { return store_.Remove(name); }
  Status Sweep(std::string_view prefix) override { return store_.Sweep(prefix); }

 private:
  LocalStore store_;
  const std::function<void(const std::string& name)> opens_;
};

}  // namespace pipeline
