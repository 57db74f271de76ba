#include "dag/location/host.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/file_descriptor.h"

namespace pipeline {

std::string HostId() {
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> bytes{};
  const ssize_t got = file.is_open() ? read(file.get(), bytes.data(), bytes.size()) : 0;
  const std::string text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.substr(0, text.find('\n'));
}

}  // namespace pipeline
