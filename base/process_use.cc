#include "base/process_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/file_descriptor.h"
#include "base/words.h"

namespace pipeline {

namespace {

/// Reads a file of /proc in one call. Empty: it cannot be read.
std::string ReadSmall(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  std::array<char, 2048> bytes;
  const ssize_t got = Uninterrupted([&] { return read(file.get(), bytes.data(), bytes.size()); });
  return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

/// Removes the next word from the front of `text` and returns it as a number.
std::optional<std::int64_t> NextNumber(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return TakeNumber<std::int64_t>(text);
}

std::uint64_t Member(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = TakeUntil(text, '\n');
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    return static_cast<std::uint64_t>(std::max<std::int64_t>(NextNumber(line).value_or(0), 0));
  }
  return 0;
}

}  // namespace

std::optional<ProcessLook> ParseProcessStat(std::string_view text, long ticks, long page) {
  // In "4711 (a name (with) marks) S 1 4711 ..." only the last mark ends the name.
  const std::size_t name = text.rfind(')');
  if (name == std::string_view::npos || text.size() < name + 4 || ticks <= 0) return std::nullopt;
  const auto id = NextNumber(text);
  if (!id) return std::nullopt;
  text.remove_prefix(text.rfind(')') + 3);  // skips " S"
  std::array<std::int64_t, 21> fields{};    // from the fourth, `ppid`, to the 24th, `rss`
  for (std::int64_t& field : fields) {
    const auto number = NextNumber(text);
    if (!number) return std::nullopt;
    field = *number;
  }
  ProcessLook look;
  look.id = static_cast<pid_t>(*id);
  look.parent = static_cast<pid_t>(fields[0]);
  look.group = static_cast<pid_t>(fields[1]);
  std::int64_t spent = 0;  // utime, stime, cutime, cstime
  for (std::size_t field = 10; field < 14; ++field)
    spent += std::clamp<std::int64_t>(fields[field], 0, std::int64_t{1} << 50);
  look.cpu = static_cast<double>(spent) / static_cast<double>(ticks);
  look.resident = static_cast<std::uint64_t>(std::clamp<std::int64_t>(fields[20], 0, std::int64_t{1} << 40)) *
                  static_cast<std::uint64_t>(std::max(page, 0L));
  return look;
}

std::vector<ProcessLook> LookAtProcesses() {
  std::vector<ProcessLook> found;
  DIR* const directory = opendir("/proc");
  if (directory == nullptr) return found;
  const long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string text = ReadSmall("/proc/" + std::string(entry->d_name) + "/stat");
    if (const auto look = ParseProcessStat(text, ticks, page)) found.push_back(*look);
  }
  closedir(directory);
  return found;
}

ProcessBytes ParseProcessIo(std::string_view text) {
  return {Member(text, "rchar: "), Member(text, "wchar: "), Member(text, "write_bytes: ")};
}

ProcessBytes BytesOfProcess(pid_t id) {
  return ParseProcessIo(ReadSmall(id == 0 ? "/proc/self/io" : "/proc/" + std::to_string(id) + "/io"));
}

}  // namespace pipeline
