#include "cli/submission/worker_messages.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace pipeline {

namespace {

constexpr std::string_view kError = "error: ";
constexpr std::uint64_t kMostRead = 64 << 10;  // of each file
constexpr std::size_t kMostLine = 1000;

std::string ReadFrom(const std::string& path, std::uint64_t begin, std::uint64_t end) {
  begin = std::max(begin, end - std::min(end, kMostRead));
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text(end - begin, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Returns the last line of `text` that begins with `begin`, without it. Empty: there is none.
std::string_view LastLine(std::string_view text, std::string_view begin) {
  while (!text.empty()) {
    const std::size_t newline = text.find_last_of("\r\n");
    const std::string_view line = newline == text.npos ? text : text.substr(newline + 1);
    if (!line.empty() && line.starts_with(begin)) return line.substr(begin.size());
    text = newline == text.npos ? std::string_view() : text.substr(0, newline);
  }
  return {};
}

}  // namespace

WorkerMessages::WorkerMessages(std::string directory) : directory_(std::move(directory)), before_(Sizes()) {}

std::map<std::string, std::uint64_t> WorkerMessages::Sizes() const {
  std::map<std::string, std::uint64_t> sizes;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code no_file;
    const std::uint64_t size = at->path().extension() == ".log" ? at->file_size(no_file) : 0;
    if (size > 0 && !no_file) sizes.emplace(at->path().filename().string(), size);
  }
  return sizes;
}

std::vector<std::string> WorkerMessages::LastErrors(std::size_t most) const {
  std::vector<std::string> found;
  const auto collect = [&](std::string_view begin) {
    for (const auto& [name, size] : Sizes()) {
      if (found.size() == most) return;
      const auto old = before_.find(name);
      const std::uint64_t from = old == before_.end() ? 0 : std::min(old->second, size);
      const std::string text = ReadFrom((std::filesystem::path(directory_) / name).string(), from, size);
      const std::string line(LastLine(text, begin).substr(0, kMostLine));
      if (!line.empty() && std::find(found.begin(), found.end(), line) == found.end()) found.push_back(line);
    }
  };
  collect(kError);
  if (found.empty()) collect("");
  return found;
}

}  // namespace pipeline
