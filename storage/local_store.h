// A store whose objects are files below a directory.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/store.h"

namespace pipeline {

class LocalStore final : public Store {
 public:
  /// The first write creates `root` and all missing directories above it. A relative `root` starts at the
  /// current directory of the process.
  explicit LocalStore(const std::string& root);

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override;
  /// `prefix` selects by the name of the object that was being written.
  Status Sweep(std::string_view prefix) override;

  /// Absolute path.
  const std::string& root() const { return root_; }

 private:
  std::string PathOf(std::string_view name) const;
  Result<bool> IsIn(const ObjectInfo& known);

  std::string root_;
};

/// LocalStore::Sweep for the files directly in one directory. OK if the directory does not exist.
Status SweepDirectory(const std::string& path);

}  // namespace pipeline
