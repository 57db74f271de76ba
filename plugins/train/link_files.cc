#include "plugins/train/link_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/uninterrupted.h"

namespace pipeline {

namespace fs = std::filesystem;

Status LinkFiles(const std::string& from, const std::vector<std::string>& names, const std::string& to) {
  for (const std::string& name : names) {
    const fs::path target = fs::path(to) / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (!error) fs::create_hard_link(fs::path(from) / name, target, error);
    if (error) fs::copy_file(fs::path(from) / name, target, fs::copy_options::overwrite_existing, error);
    if (error) return SystemError(target.string(), error.value());
  }
  return {};
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? SystemError(path, error.value()) : Status();
}

Status SyncFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || Uninterrupted([&] { return fsync(file.get()); }) != 0)
    return SystemError(path, errno);
  return {};
}

}  // namespace pipeline
