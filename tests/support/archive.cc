#include "tests/support/archive.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace pipeline {

namespace {

void Octal(std::string& block, std::size_t at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i > 0; --i, number >>= 3)
    block[at + i - 1] = static_cast<char>('0' + (number & 7));
}

void U16(std::string& out, std::uint64_t number) {
  out.push_back(static_cast<char>(number));
  out.push_back(static_cast<char>(number >> 8));
}
void U32(std::string& out, std::uint64_t number) { U16(out, number & 0xFFFF), U16(out, number >> 16); }

struct Packed {
  std::string name, bytes;
  std::uint32_t crc;
  std::uint64_t size;
  int method;
  bool directory;
};

std::string ZipOf(const std::vector<Packed>& members) {
  std::string out, directory;
  for (const Packed& member : members) {
    const std::size_t offset = out.size();
    std::string shared;  // by both headers
    U16(shared, 10), U16(shared, 0), U16(shared, static_cast<std::uint64_t>(member.method));
    U16(shared, 0), U16(shared, 0x21), U32(shared, member.crc);
    U32(shared, member.bytes.size()), U32(shared, member.size);
    U16(shared, member.name.size()), U16(shared, 0);
    out += "PK\x03\x04" + shared + member.name + member.bytes;
    directory += "PK\x01\x02";
    U16(directory, 0x030A);
    directory += shared;
    U16(directory, 0), U16(directory, 0), U16(directory, 0);
    U32(directory, (member.directory ? 040755u : 0100644u) << 16), U32(directory, offset);
    directory += member.name;
  }
  const std::size_t begin = out.size();
  out += directory + "PK\x05\x06";
  U32(out, 0), U16(out, members.size()), U16(out, members.size());
  U32(out, directory.size()), U32(out, begin), U16(out, 0);
  return out;
}

}  // namespace

std::uint32_t ZipCrc(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

std::string Tar(const std::vector<TestMember>& members) {
  std::string out;
  for (const TestMember& member : members) {
    std::string header(512, '\0');
    header.replace(0, member.name.size(), member.name);
    const bool link = member.type == '1' || member.type == '2';
    Octal(header, 100, 7, 0644), Octal(header, 108, 7, 0), Octal(header, 116, 7, 0);
    Octal(header, 124, 11, link ? 0 : member.bytes.size()), Octal(header, 136, 11, 0);
    header[156] = member.type;
    if (link) header.replace(157, member.bytes.size(), member.bytes);
    header.replace(257, 8,
                   std::string("ustar\0"
                               "00",
                               8));
    header.replace(148, 8, "        ");
    std::uint64_t sum = 0;
    for (const char byte : header) sum += static_cast<unsigned char>(byte);
    Octal(header, 148, 6, sum);
    header[154] = '\0';
    out += header;
    if (!link) out += member.bytes;
    out.resize((out.size() + 511) / 512 * 512);
  }
  return out + std::string(1024, '\0');
}

std::string Zip(const std::vector<TestMember>& members) {
  std::vector<Packed> packed;
  for (const TestMember& member : members)
    packed.push_back(
        {member.name, member.bytes, ZipCrc(member.bytes), member.bytes.size(), 0, member.type == '5'});
  return ZipOf(packed);
}

std::string ZipDeflated(std::string_view name, std::string_view deflated, std::uint32_t crc,
                        std::uint64_t size) {
  return ZipOf({{std::string(name), std::string(deflated), crc, size, 8, false}});
}

}  // namespace pipeline
