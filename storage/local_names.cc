#include "storage/local_names.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::string_view kMark = ".tmp.";
constexpr std::size_t kBootLength = 8;

const std::string& BootId() {
  static const std::string id = [] {
    std::string line;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> line;
    return line.size() < kBootLength ? std::string(kBootLength, '0') : line.substr(0, kBootLength);
  }();
  return id;
}

std::optional<std::uint64_t> ParseDecimal(std::string_view digits) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [parsed, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return number;
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string NewTemporaryName(std::string_view object) {
  static std::atomic<std::uint64_t> next{0};
  return StrCat('.', object, kMark, BootId(), '-', getpid(), '-', next.fetch_add(1));
}

std::optional<TemporaryName> ParseTemporaryName(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (name.empty() || name.front() != '.' || mark == std::string_view::npos || mark < 2) return std::nullopt;
  const std::string_view owner = name.substr(mark + kMark.size());
  const std::size_t dash = owner.rfind('-');
  if (dash == std::string_view::npos || dash < kBootLength + 2 || owner[kBootLength] != '-')
    return std::nullopt;
  TemporaryName parsed;
  parsed.object = name.substr(1, mark - 1);
  parsed.boot = owner.substr(0, kBootLength);
  const auto pid = ParseDecimal(owner.substr(kBootLength + 1, dash - kBootLength - 1));
  if (!std::all_of(parsed.boot.begin(), parsed.boot.end(), IsHex) || !pid || *pid > UINT32_MAX ||
      !ParseDecimal(owner.substr(dash + 1)))
    return std::nullopt;
  parsed.pid = static_cast<std::uint32_t>(*pid);
  return parsed;
}

bool WriterIsGone(const TemporaryName& name) {
  if (name.boot != BootId()) return true;
  struct stat ignored;
  return stat(StrCat("/proc/", name.pid).c_str(), &ignored) != 0;
}

}  // namespace pipeline
