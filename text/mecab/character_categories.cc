#include "text/mecab/character_categories.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kNameBytes = 32;
constexpr std::size_t kStored = 0xffff;  // codes; MeCab finds a zero behind them for the last code
constexpr std::size_t kCodes = 0x10000;
constexpr std::uint32_t kMostCategories = 256;

}  // namespace

Result<CharacterCategories> CharacterCategories::Read(const std::string& path) {
  const Status damaged(Code::kFailedPrecondition, StrCat(path, ": is damaged, or no file of MeCab"));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::uint32_t count = 0;
  file.read(reinterpret_cast<char*>(&count), sizeof(count));
  if (!file || error || count == 0 || count > kMostCategories ||
      size != sizeof(count) + count * kNameBytes + kStored * sizeof(std::uint32_t))
    return damaged;
  CharacterCategories read;
  for (std::uint32_t at = 0; at < count; ++at) {
    std::array<char, kNameBytes> name{};
    file.read(name.data(), kNameBytes);
    read.names.emplace_back(name.data(), ::strnlen(name.data(), kNameBytes));
  }
  std::vector<std::uint32_t> stored(kCodes);
  file.read(reinterpret_cast<char*>(stored.data()), kStored * sizeof(std::uint32_t));
  if (!file) return damaged;
  for (const std::uint32_t bits : stored) read.by_code.emplace_back(bits);
  if (!std::all_of(read.by_code.begin(), read.by_code.end(),
                   [count](CharacterCategory category) { return category.main() < count; }))
    return damaged;
  return read;
}

}  // namespace pipeline
