// A store in memory: for tests, and for objects that never need a disk.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/store.h"

namespace pipeline {

/// Versions are generations, counted over the whole store. Writers may outlive the store.
class MemoryStore final : public Store {
 public:
  MemoryStore();
  ~MemoryStore() override;

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override;
  Status Sweep(std::string_view prefix) override;

 private:
  class Writer;
  struct Objects;
  std::shared_ptr<Objects> objects_;  // shared with the writers
};

/// Returns a file in memory that shares `bytes` with their other owners.
std::unique_ptr<ByteFile> MemoryFile(std::shared_ptr<const std::string> bytes);

}  // namespace pipeline
