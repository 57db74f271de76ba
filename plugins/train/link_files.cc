#include "plugins/train/link_files.h"

#include <filesystem>
#include <system_error>

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

}  // namespace pipeline
