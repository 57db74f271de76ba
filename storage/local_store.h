// Objects as files below a directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/store.h"

namespace pipeline {

class LocalStore final : public Store {
 public:
  /// `root` is made, with what is missing above it, by the first write. A relative one is taken from
  /// where the process is now.
  explicit LocalStore(const std::string& root);

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  /// Takes `prefix` as that of the objects that were being written.
  Status Sweep(std::string_view prefix) override;

  /// Absolute.
  const std::string& root() const { return root_; }

 private:
  std::string PathOf(std::string_view name) const;

  std::string root_;
};

/// LocalStore::Sweep of what lies right in one directory, and not below it; OK where there is none.
Status SweepDirectory(const std::string& path);

}  // namespace pipeline
