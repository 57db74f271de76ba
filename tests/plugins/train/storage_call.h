// A call of the host into the plugin, over stores of the test's choice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/native/services.h"
#include "plugins/native/storage.h"
#include "storage/remote/open_store.h"
#include "storage/store.h"

namespace pipeline {

/// What of a store has names that begin with `prefix`, under the rest of their names.
class StoreBelow final : public Store {
 public:
  StoreBelow(Store& inner, std::string prefix) : inner_(inner), prefix_(std::move(prefix)) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return inner_.Open(Of(name)); }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    return inner_.Create(Of(name), std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(Of(name)); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override {
    Result<std::vector<ObjectInfo>> all = inner_.List(Of(prefix));
    if (!all.ok()) return all;
    for (ObjectInfo& object : *all) object.name.erase(0, prefix_.size());
    return all;
  }
  Status Remove(std::string_view name) override { return inner_.Remove(Of(name)); }
  Status Sweep(std::string_view) override { return {}; }

 private:
  std::string Of(std::string_view name) const { return prefix_ + std::string(name); }

  Store& inner_;
  const std::string prefix_;
};

/// `store` stands at gs://bkt; paths are directories.
class StorageCall {
 public:
  /// `log` receives the lines of the plugin, on any thread.
  explicit StorageCall(
      Store& store, std::function<void(Level, std::string_view)> log = [](Level, std::string_view) {})
      : storage_(RulesOver(store), {}), services_{.log = std::move(log), .storage = &storage_} {}
  const PluginStorage& storage() const { return storage_; }
  const PluginServices& call() const { return services_; }

 private:
  static StorageRules RulesOver(Store& store) {
    return {.open_store = [&store](const std::string& uri) -> Result<std::unique_ptr<Store>> {
      constexpr std::string_view kRoot = "gs://bkt";
      if (!uri.starts_with(kRoot)) return OpenStore(uri);
      std::string below = uri.substr(kRoot.size());
      if (!below.empty()) below = below.substr(1) + "/";
      return std::unique_ptr<Store>(std::make_unique<StoreBelow>(store, below));
    }};
  }

  const PluginStorage storage_;
  const PluginServices services_;
};

}  // namespace pipeline
