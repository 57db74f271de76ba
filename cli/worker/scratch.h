// The directory for the files that a worker alone uses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"

namespace pipeline {

/// A directory of this process, which is removed with this object.
class Scratch {
 public:
  /// `below`: its parent. Empty: the system's directory for temporary files.
  explicit Scratch(const std::string& below);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_.string(); }
  /// Returns the bytes that may lie in it: the free ones, and its own. Absent: the system does not tell.
  std::optional<std::uint64_t> Room() const;
  /// Not OK: the directory cannot be used.
  const Status& status() const { return status_; }

 private:
  std::filesystem::path path_;
  Status status_;
};

}  // namespace pipeline
