// Archives for tests, made byte by byte, so that any of them can be damaged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct TestMember {
  std::string name;
  std::string bytes;
  char type = '0';  // of ustar: '0' file, '5' directory, '2' symbolic link, '1' hard link
};

/// A ustar with two blocks of zeros at its end.
std::string Tar(const std::vector<TestMember>& members);
/// Stored members; those whose type is '5' as directories.
std::string Zip(const std::vector<TestMember>& members);
/// One member whose deflated bytes are given, with what they inflate to.
std::string ZipDeflated(std::string_view name, std::string_view deflated, std::uint32_t crc,
                        std::uint64_t size);
std::uint32_t ZipCrc(std::string_view bytes);

}  // namespace pipeline
