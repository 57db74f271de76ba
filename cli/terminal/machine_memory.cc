#include "cli/terminal/machine_memory.h"

#include <charconv>
#include <fstream>
#include <limits>
#include <optional>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr const char* kMachine = "this machine";

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// Absent: the text is "max", or no number.
std::optional<std::uint64_t> Number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

/// Lowers `memory` to the least number in the files `file` of the directory `group` and of the directories
/// above it, in the hierarchy at `mount`.
void Lower(const std::string& mount, std::string group, const char* file, MachineMemory& memory) {
  for (;;) {
    const std::optional<std::string> line = FirstLine(StrCat(mount, group, "/", file));
    const std::optional<std::uint64_t> most = line ? Number(*line) : std::nullopt;
    if (most && *most < memory.bytes) memory = {*most, StrCat("the cgroup ", group.empty() ? "/" : group)};
    if (group.empty()) return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

MachineMemory FindMachineMemory(const std::string& root) {
  MachineMemory memory{std::numeric_limits<std::uint64_t>::max(), kMachine};
  std::ifstream info(StrCat(root, "/proc/meminfo"));
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("MemTotal:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) continue;
    if (const auto kibibytes = Number(line.substr(digits))) memory.bytes = *kibibytes << 10;
  }
  std::ifstream groups(StrCat(root, "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // "0::/path", "4:memory:/path"
    const std::size_t controllers = line.find(':');
    const std::size_t path = line.find(":/");
    if (controllers == std::string::npos || path == std::string::npos) continue;
    std::string group = line.substr(path + 1);
    if (group == "/") group.clear();
    const std::string_view names =
        path > controllers ? std::string_view(line).substr(controllers + 1, path - controllers - 1) : "";
    if (names.empty())
      Lower(StrCat(root, "/sys/fs/cgroup"), group, "memory.max", memory);
    else if (StrCat(",", names, ",").find(",memory,") != std::string::npos)
      Lower(StrCat(root, "/sys/fs/cgroup/memory"), group, "memory.limit_in_bytes", memory);
  }
  return memory;
}

bool Fits(std::uint64_t limit, const MachineMemory& memory) {
  const std::uint64_t forgiven = memory.of == kMachine ? memory.bytes / 8 : 0;
  return limit <= memory.bytes || limit - memory.bytes <= forgiven;
}

}  // namespace pipeline
