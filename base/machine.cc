#include "base/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/str.h"

namespace pipeline {

const std::string& BootId() {
  static const std::string id = [] {
    const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    std::array<char, 64> bytes{};
    const ssize_t got = file.is_open() ? read(file.get(), bytes.data(), bytes.size()) : 0;
    const std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    return std::string(text.substr(0, text.find('\n')));
  }();
  return id;
}

std::string HostName() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) return "?";
  return host;
}

std::string NameOfProcess() { return StrCat(HostName(), ", process ", getpid()); }

}  // namespace pipeline
