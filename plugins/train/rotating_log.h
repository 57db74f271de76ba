// What the trainer prints, in a file of bounded size, and its last lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// Safe from any thread. A file that cannot be written is no reason to stop: the last lines are kept all the
/// same.
class RotatingLog {
 public:
  static constexpr std::uint64_t kMostBytes = 16 << 20;
  static constexpr std::size_t kLines = 200;
  static constexpr std::size_t kMostLine = 2000;

  explicit RotatingLog(std::string path, std::uint64_t most_bytes = kMostBytes);
  ~RotatingLog();
  RotatingLog(const RotatingLog&) = delete;
  RotatingLog& operator=(const RotatingLog&) = delete;

  void Append(std::string_view bytes);
  /// At most kLines, the last one perhaps unfinished; each cut to kMostLine bytes, without control
  /// characters.
  std::vector<std::string> Tail() const;
  const std::string& path() const { return path_; }

 private:
  void Rotate();

  const std::string path_;
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;  // guards what follows
  std::FILE* file_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::deque<std::string> lines_;
  std::string line_;  // that has not ended
};

}  // namespace pipeline
