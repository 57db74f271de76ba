#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace pipeline {

/// A new empty directory, removed with all it holds at the end of its scope.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// The bytes of a file; the test fails where it cannot be read.
std::string ReadFile(const std::filesystem::path& path);
/// Writes or replaces a file; the test fails where it cannot.
void WriteFile(const std::filesystem::path& path, std::string_view bytes);

}  // namespace pipeline
