// Temporary: the file that holds the bytes of an object until its commit. Names: storage/local_names.h.
// Ownership, and how Sweep detects it: storage/README.md.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "storage/local_file.h"
#include "storage/local_names.h"

namespace pipeline {

/// Removed at the end of its scope, unless it was renamed. One thread at a time.
class TemporaryFile {
 public:
  /// Creates an empty temporary beside the future file `target`, open for reading and writing. Creates the
  /// directory if necessary.
  static Result<TemporaryFile> Create(const std::string& target);
  /// Creates another name for `file`, open for reading alone. Absent: not possible (another file system,
  /// one without links, no permission).
  static std::optional<TemporaryFile> Link(const std::string& target, const LocalFile& file);

  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~TemporaryFile();

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.get(); }
  /// Call it after a rename has removed the name.
  void Disown() { path_.clear(); }

 private:
  TemporaryFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;  // empty: nothing to remove
  FileDescriptor file_;
};

/// Removes the temporary at `path`, whose last part is `name`, if no living process writes it. OK also if
/// one does, if the file is gone, or if this user may not write it.
Status RemoveAbandoned(const std::string& path, const TemporaryName& name);

}  // namespace pipeline
