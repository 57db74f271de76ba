#include "plugins/train/rotating_log.h"

#include <utility>

#include "base/mutex.h"
#include "base/terminal_text.h"

namespace pipeline {

RotatingLog::RotatingLog(std::string path, std::uint64_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes), file_(std::fopen(path_.c_str(), "we")) {}

RotatingLog::~RotatingLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void RotatingLog::Append(std::string_view bytes) {
  const Lock lock(mutex_);
  if (bytes_ + bytes.size() > most_bytes_ && bytes_ > 0) Rotate();
  if (file_ != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size())
    std::fflush(file_);
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\n\r");
    const std::string_view piece = bytes.substr(0, end);
    if (!piece.empty() && std::exchange(returned_, false)) line_.clear();
    if (line_.size() <= kMostLine) line_ += piece.substr(0, kMostLine + 1 - line_.size());
    if (end == std::string_view::npos) return;
    returned_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (returned_) continue;
    lines_.push_back(Readable(line_, kMostLine));
    line_.clear();
    if (lines_.size() > kLines) lines_.pop_front();
  }
}

std::vector<std::string> RotatingLog::Tail() const {
  const Lock lock(mutex_);
  std::vector<std::string> tail(lines_.begin(), lines_.end());
  if (!line_.empty()) tail.push_back(Readable(line_, kMostLine));
  if (tail.size() > kLines) tail.erase(tail.begin());
  return tail;
}

void RotatingLog::Rotate() {
  if (file_ != nullptr) std::fclose(file_);
  std::rename(path_.c_str(), (path_ + ".1").c_str());
  file_ = std::fopen(path_.c_str(), "we");
  bytes_ = 0;
}

}  // namespace pipeline
