#include "plugins/train/slice/own_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/file_descriptor.h"
#include "base/str.h"

namespace pipeline {

std::string OwnAddress() {
  const FileDescriptor made(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in far = {};
  far.sin_family = AF_INET;
  far.sin_port = htons(53);
  inet_pton(AF_INET, "192.0.2.1", &far.sin_addr);  // RFC 5737: nobody has it; only the route matters
  sockaddr_in own = {};
  socklen_t size = sizeof own;
  std::array<char, INET_ADDRSTRLEN> text = {};
  if (!made.is_open() || connect(made.get(), reinterpret_cast<sockaddr*>(&far), sizeof far) != 0 ||
      getsockname(made.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) == nullptr)
    return "127.0.0.1";
  return text.data();
}

Result<int> FreePort(bool loopback) {
  const FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  const auto place = reinterpret_cast<sockaddr*>(&address);
  if (!made.is_open() || bind(made.get(), place, size) != 0 || getsockname(made.get(), place, &size) != 0)
    return SystemError("looking for a free port", errno);
  return static_cast<int>(ntohs(address.sin_port));
}

std::string WithPort(const std::string& address, int port) {
  const bool ipv6 = address.find(':') != std::string::npos;
  return ipv6 ? StrCat("[", address, "]:", port) : StrCat(address, ":", port);
}

}  // namespace pipeline
