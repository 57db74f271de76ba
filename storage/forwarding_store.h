// A store that leaves everything to another one, as the base of those that change a few methods.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/store.h"

namespace pipeline {

/// A store that changes Open changes OpenKnown too, and one that changes Remove changes RemoveAll too.
class ForwardingStore : public Store {
 public:
  /// `inner` outlives this store.
  explicit ForwardingStore(Store& inner) : inner_(inner) {}
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override { return inner_.Open(name); }
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    return inner_.OpenKnown(known);
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    return inner_.Create(name, std::move(condition));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override { return inner_.Stat(name); }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override { return inner_.List(prefix); }
  Status Remove(std::string_view name) override { return inner_.Remove(name); }
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override {
    return inner_.RemoveAll(objects, removed);
  }
  Status Sweep(std::string_view prefix) override { return inner_.Sweep(prefix); }

 private:
  Store& inner_;
};

}  // namespace pipeline
