// The file that holds an object's bytes until it is committed. Names: storage/local_names.h; who owns
// one, and how Sweep knows: storage/README.md.
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
  /// A new, empty one, open for reading and writing, beside where `target` is going to be; makes the
  /// directory if need be.
  static Result<TemporaryFile> Create(const std::string& target);
  /// A further name for `file`, open for reading only. Absent where that cannot be: another file
  /// system, one without links, no permission.
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
  /// To be called once the name is gone by a rename.
  void Disown() { path_.clear(); }

 private:
  TemporaryFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;  // empty: nothing to remove
  FileDescriptor file_;
};

/// Removes the temporary at `path`, whose last part is `name`, if no living process writes it. OK also
/// when one does, when it is gone, or when this user may not write it.
Status RemoveAbandoned(const std::string& path, const TemporaryName& name);

}  // namespace pipeline
