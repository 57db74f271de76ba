#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/submission/submission_run.h"

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

/// Returns `line` without the sequences that colour it on a terminal.
std::string WithoutColours(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line.substr(at, 2) != "\x1b[") {
      if (line[at] != '\x1b') plain.push_back(line[at]);
      continue;
    }
    at += 2;
    while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
  }
  return plain;
}

/// Returns the message in a line of an engine. Ray puts "(work pid=123, ip=10.0.0.2) " in front of a line
/// that a worker wrote on another host.
std::string MessageIn(std::string_view line) {
  std::string plain = WithoutColours(line);
  const std::size_t end = plain.starts_with('(') ? plain.find(") ") : plain.npos;
  if (end != plain.npos && plain.find(" pid=") < end) plain.erase(0, end + 2);
  return plain;
}

/// Returns the last message in `text` that `wanted` accepts. Empty: there is none.
std::string LastMessage(std::string_view text, bool (*wanted)(std::string_view message)) {
  while (!text.empty()) {
    const std::size_t newline = text.find_last_of("\r\n");
    const std::string message = MessageIn(newline == text.npos ? text : text.substr(newline + 1));
    if (!message.empty() && wanted(message)) return message;
    text = newline == text.npos ? std::string_view() : text.substr(0, newline);
  }
  return {};
}

bool IsError(std::string_view message) { return message.starts_with(kError); }
bool IsNoWarning(std::string_view message) {
  return !message.starts_with("warning: ") && message.find("Warning: ") == message.npos;
}
bool IsAny(std::string_view) { return true; }

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
  const auto collect = [&](bool (*wanted)(std::string_view message)) {
    for (const auto& [name, size] : Sizes()) {
      if (found.size() == most) return;
      const auto old = before_.find(name);
      const std::uint64_t from = old == before_.end() ? 0 : std::min(old->second, size);
      const std::string text = ReadFrom((std::filesystem::path(directory_) / name).string(), from, size);
      std::string line = LastMessage(text, wanted);
      if (IsError(line)) line.erase(0, kError.size());
      line.resize(std::min(line.size(), kMostLine));
      if (!line.empty() && std::find(found.begin(), found.end(), line) == found.end()) found.push_back(line);
    }
  };
  for (const auto wanted : {IsError, IsNoWarning, IsAny})
    if (found.empty()) collect(wanted);
  return found;
}

}  // namespace pipeline
