// Stores the trainer's output in a file of bounded size, and its last lines in memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

/// Safe from any thread. If the file cannot be written, it continues and still keeps the last lines.
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
  /// At most kLines lines; the last one may be unfinished. Each is cut to kMostLine bytes and has no
  /// control characters.
  std::vector<std::string> Tail() const;
  const std::string& path() const { return path_; }

 private:
  void Rotate() REQUIRES(mutex_);

  const std::string path_;
  const std::uint64_t most_bytes_;
  mutable Mutex mutex_;
  std::FILE* file_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::deque<std::string> lines_ GUARDED_BY(mutex_);
  std::string line_ GUARDED_BY(mutex_);  // the unfinished line
  bool returned_ GUARDED_BY(mutex_) =
      false;  // behind a CR, so the next text replaces the line, as on a terminal
};

}  // namespace pipeline
