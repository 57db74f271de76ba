#include "base/byte_reader.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostHeld = 1 << 20;  // bytes that are read between two looks at the stop token

}  // namespace

Result<std::size_t> HeldBytes::Read(std::span<char> out) {
  if (stop_.stop_requested()) return Status(Code::kCancelled, "reading was stopped");
  const std::size_t count = left_.copy(out.data(), std::min(out.size(), kMostHeld));
  left_.remove_prefix(count);
  return count;
}

Result<std::unique_ptr<ByteReader>> HeldFile::Open(std::uint64_t offset, std::stop_token stop) const {
  const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(offset, bytes_.size()));
  return std::make_unique<HeldBytes>(bytes_.substr(begin), std::move(stop));
}

Status ReadExactly(ByteReader& reader, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(out.subspan(filled)));
    if (got == 0)
      return Status(Code::kDataLoss, StrCat("ends ", out.size() - filled, " bytes too early: truncated"));
    filled += got;
  }
  return {};
}

Status ReadAt(const ByteFile& file, std::uint64_t offset, std::span<char> out, std::stop_token stop) {
  if (out.empty()) return {};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(offset, std::move(stop)));
  return ReadExactly(*reader, out);
}

Result<std::string> ReadBytes(const ByteFile& file, std::uint64_t offset, std::uint64_t size,
                              std::stop_token stop) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  RETURN_IF_ERROR(ReadAt(file, offset, bytes, std::move(stop)));
  return bytes;
}

}  // namespace pipeline
