#include "text/mecab/dictionary_file.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kMagic = 0xef718f77;
constexpr std::uint32_t kVersion = 102;
constexpr std::size_t kCharsetBytes = 32;
constexpr std::uint32_t kSteps = 257;  // from a base: to a leaf, or along one of 256 bytes

/// Numbers at the front of the file, in the byte order of the machine that made it.
struct Numbers {
  std::uint32_t magic, version, type, words, right_ids, left_ids, trie_bytes, word_bytes, feature_bytes, zero;
};
constexpr std::size_t kHeaderBytes = sizeof(Numbers) + kCharsetBytes;
constexpr std::size_t kLeastBytes = 100;

/// A word as it lies in the file.
struct StoredWord {
  std::uint16_t left, right, part_of_speech;
  std::int16_t cost;
  std::uint32_t feature, compound;
};

Status Damaged(const std::string& path) {
  return Status(Code::kFailedPrecondition, StrCat(path, ": is damaged, or no dictionary of MeCab"));
}

template <class T>
bool ReadInto(std::ifstream& file, std::vector<T>& items) {
  file.read(reinterpret_cast<char*>(items.data()), static_cast<std::streamsize>(items.size() * sizeof(T)));
  return static_cast<bool>(file);
}

/// Whether all steps from any unit stay within the array.
bool AreBasesWithin(const std::vector<DictionaryFile::Unit>& units) {
  if (units.size() <= kSteps || units.front().base <= 0) return false;
  const auto most = static_cast<std::int64_t>(units.size() - kSteps);
  for (std::size_t at = 0; at < units.size(); ++at) {
    const auto [base, check] = units[at];
    if (base > most) return false;
    if (at > 0 && check == 0) continue;  // free
    if (base == 0 || (base < 0 && check != at)) return false;
  }
  return true;
}

/// Checks the runs of all leaves: a word is in one run at most.
Status CheckRuns(const std::string& path, const DictionaryFile& file) {
  std::vector<bool> seen(file.words.size());
  for (const DictionaryFile::Unit& unit : file.units) {
    if (unit.base >= 0) continue;
    const auto [first, count] = DictionaryFile::RunOfLeaf(unit);
    if (first > seen.size() || count > seen.size() - first) return Damaged(path);
    // The number of words has eight bits, and more words change the number of the first one.
    if (count == 0) return Status(Code::kUnimplemented, StrCat(path, ": has a surface with 256 words"));
    for (std::size_t word = first; word < first + count; ++word) {
      if (seen[word]) return Status(Code::kUnimplemented, StrCat(path, ": has a word with two surfaces"));
      seen[word] = true;
    }
  }
  const auto root = static_cast<std::uint32_t>(file.units.front().base);
  if (file.units[root].IsLeafOf(root))
    return Status(Code::kUnimplemented, StrCat(path, ": has an empty surface"));
  return {};
}

}  // namespace

Result<DictionaryHeader> ReadDictionaryHeader(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::array<char, kHeaderBytes> bytes{};
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Numbers numbers{};
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  if (!file || error || size < kLeastBytes || (numbers.magic ^ kMagic) != size) return Damaged(path);
  if (numbers.version != kVersion)
    return Status(Code::kFailedPrecondition,
                  StrCat(path, ": has version ", numbers.version, " of the format, not ", kVersion,
                         ": it was made by another MeCab"));
  const std::uint64_t parts = std::uint64_t{numbers.trie_bytes} + numbers.word_bytes + numbers.feature_bytes;
  if (kHeaderBytes + parts != size) return Damaged(path);
  const char* const charset = bytes.data() + sizeof(numbers);
  return DictionaryHeader{.type = numbers.type,
                          .right_ids = numbers.right_ids,
                          .left_ids = numbers.left_ids,
                          .trie_bytes = numbers.trie_bytes,
                          .word_bytes = numbers.word_bytes,
                          .charset = std::string(charset, ::strnlen(charset, kCharsetBytes))};
}

Result<DictionaryFile> DictionaryFile::Read(const std::string& path) {
  DictionaryFile read;
  ASSIGN_OR_RETURN(read.header, ReadDictionaryHeader(path));
  const auto [trie_bytes, word_bytes] = std::pair(read.header.trie_bytes, read.header.word_bytes);
  if (trie_bytes % sizeof(Unit) != 0 || word_bytes % sizeof(StoredWord) != 0) return Damaged(path);
  read.units.resize(trie_bytes / sizeof(Unit));
  std::vector<StoredWord> stored(word_bytes / sizeof(StoredWord));
  std::ifstream file(path, std::ios::binary);
  file.seekg(kHeaderBytes);
  if (!ReadInto(file, read.units) || !ReadInto(file, stored) || !AreBasesWithin(read.units))
    return Damaged(path);
  read.words.reserve(stored.size());
  for (const StoredWord& word : stored) {
    if (word.left >= read.header.left_ids || word.right >= read.header.right_ids) return Damaged(path);
    read.words.push_back({word.left, word.right, word.cost});
  }
  RETURN_IF_ERROR(CheckRuns(path, read));
  return read;
}

bool DictionaryFile::Step(std::uint32_t& base, char byte) const {
  const Unit& next = units[base + static_cast<unsigned char>(byte) + 1];
  if (next.check != base) return false;
  base = static_cast<std::uint32_t>(next.base);
  return true;
}

DictionaryFile::Run DictionaryFile::Find(std::string_view surface) const {
  auto base = static_cast<std::uint32_t>(units.front().base);
  for (const char byte : surface)
    if (!Step(base, byte)) return {};
  return units[base].IsLeafOf(base) ? RunOfLeaf(units[base]) : Run{};
}

std::vector<DictionaryFile::Run> DictionaryFile::RunsAt(std::string_view text) const {
  std::vector<Run> runs;
  auto base = static_cast<std::uint32_t>(units.front().base);
  for (const char byte : text) {
    if (!Step(base, byte)) break;
    if (units[base].IsLeafOf(base)) runs.push_back(RunOfLeaf(units[base]));
  }
  return runs;
}

}  // namespace pipeline
