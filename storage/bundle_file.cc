#include "storage/bundle_file.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "base/words.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::string_view kSuffix = ".bundle-";
constexpr std::string_view kBundleMark = "pipe bundle 1 ";
constexpr int kHexDigits = 8;
constexpr std::size_t kLastLine =
    kBundleMark.size() + kHexDigits + 1 + kHexDigits + 1;  // two numbers, SP, LF
constexpr std::size_t kMostNamed = 200;  // bytes of a name; the file system takes 255, and more is added
constexpr std::size_t kFirstRead = 4096;

Status Damaged(std::string_view why) { return Status(Code::kDataLoss, StrCat("as a bundle, ", why)); }

Result<std::string> ReadTail(const ByteFile& file, std::uint64_t bytes, std::stop_token stop) {
  const std::uint64_t size = std::min(bytes, file.size());
  return ReadBytes(file, file.size() - size, size, std::move(stop));
}

}  // namespace

bool CanBeBundled(std::string_view name) {
  return CheckObjectName(name).ok() && name.size() <= kMostNamed &&
         name.find_first_of("/\n") == std::string_view::npos;
}

std::string BundleName(std::string_view first, std::uint64_t number) {
  return StrCat(first, kSuffix, number);
}

std::optional<std::uint64_t> NumberOfBundle(std::string_view name) {
  const std::size_t suffix = name.rfind(kSuffix);
  if (suffix == std::string_view::npos || !CanBeBundled(name.substr(0, suffix))) return std::nullopt;
  return ParseNumber<std::uint64_t>(name.substr(suffix + kSuffix.size()));
}

std::string EncodeBundleEnd(std::span<const BundledPart> parts) {
  std::string list;
  for (const BundledPart& part : parts) list += StrCat(part.size, " ", part.name, "\n");
  return StrCat(list, kBundleMark, Hex32(static_cast<std::uint32_t>(list.size())), " ", Hex32(Crc32c(list)),
                "\n");
}

Result<std::vector<BundledPart>> ReadBundleParts(const ByteFile& file, std::stop_token stop) {
  ASSIGN_OR_RETURN(std::string tail, ReadTail(file, kFirstRead, stop));
  if (tail.size() < kLastLine) return Damaged("it is too short");
  std::string_view last = std::string_view(tail).substr(tail.size() - kLastLine);
  const std::string line(last);
  last.remove_prefix(kBundleMark.size());
  const std::optional<std::uint64_t> bytes = TakeNumber<std::uint64_t>(last, 16);
  if (!bytes || *bytes > file.size() - kLastLine) return Damaged("it has no last line");
  if (*bytes > tail.size() - kLastLine) {
    ASSIGN_OR_RETURN(tail, ReadTail(file, *bytes + kLastLine, std::move(stop)));
  }
  std::string_view list = std::string_view(tail).substr(tail.size() - kLastLine - *bytes, *bytes);
  if (line != StrCat(kBundleMark, Hex32(static_cast<std::uint32_t>(*bytes)), " ", Hex32(Crc32c(list)), "\n"))
    return Damaged("its list is damaged");
  std::vector<BundledPart> parts;
  std::uint64_t end = 0;
  const std::uint64_t whole = file.size() - kLastLine - *bytes;
  while (!list.empty()) {
    const std::optional<std::uint64_t> size = TakeNumber<std::uint64_t>(list);
    const std::size_t line_end = list.find('\n');
    if (!size || *size > whole - end || line_end == std::string_view::npos || list.front() != ' ')
      return Damaged("its list is damaged");
    const std::string_view name = list.substr(1, line_end - 1);
    if (!CanBeBundled(name)) return Damaged("its list has a name that no part can have");
    parts.push_back({std::string(name), end, *size});
    end += *size;
    list.remove_prefix(line_end + 1);
  }
  if (end != whole) return Damaged("its parts have other sizes than its list says");
  return parts;
}

}  // namespace pipeline
