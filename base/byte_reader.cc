#include "base/byte_reader.h"

#include <algorithm>
#include <span>

#include "base/crc32c.h"
#include "base/str.h"

namespace pipeline {

namespace {

// So many bytes stay in the cache of a core between reading and hashing.
constexpr std::size_t kHashedAtOnce = 256 << 10;
constexpr std::size_t kMostHeld = 1 << 20;  // bytes that are read between two looks at the stop token

class Reader final : public ByteReader {
 public:
  Reader(std::unique_ptr<ByteReader> input, std::uint64_t offset,
         std::shared_ptr<const CountingFile::Count> count)
      : input_(std::move(input)), at_(offset), count_(std::move(count)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    ASSIGN_OR_RETURN(const std::size_t got, input_->Read(out));
    (*count_)(at_, std::string_view(out.data(), got));
    at_ += got;
    return got;
  }

 private:
  const std::unique_ptr<ByteReader> input_;
  std::uint64_t at_;
  const std::shared_ptr<const CountingFile::Count> count_;
};

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

Result<std::size_t> ReadFully(ByteReader& reader, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(out.subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

Status ReadPieces(ByteReader& reader, std::size_t most,
                  const std::function<Status(std::string_view piece)>& take) {
  std::string piece(most, '\0');
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, reader.Read(piece));
    if (got == 0) return {};
    RETURN_IF_ERROR(take(std::string_view(piece).substr(0, got)));
  }
}

Result<std::uint32_t> ReadCrc32c(ByteReader& reader) {
  std::uint32_t crc = 0;
  RETURN_IF_ERROR(ReadPieces(reader, kHashedAtOnce, [&crc](std::string_view piece) {
    crc = Crc32c(piece, crc);
    return Status();
  }));
  return crc;
}

Status ReadExactly(ByteReader& reader, std::span<char> out) {
  ASSIGN_OR_RETURN(const std::size_t filled, ReadFully(reader, out));
  if (filled == out.size()) return {};
  return Status(Code::kDataLoss, StrCat("ends ", out.size() - filled, " bytes too early: truncated"));
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

Result<std::unique_ptr<ByteReader>> CountingFile::Open(std::uint64_t offset, std::stop_token stop) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, file_->Open(offset, std::move(stop)));
  return std::make_unique<Reader>(std::move(reader), offset, count_);
}

}  // namespace pipeline
