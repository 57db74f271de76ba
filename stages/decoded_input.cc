#include "stages/decoded_input.h"

#include <string>
#include <utility>

#include "stages/block_decoder.h"

namespace pipeline {

namespace {

Result<std::string> ReadFront(const ByteFile& file, const std::stop_token& stop) {
  std::string front(kMagicBytes, '\0');
  std::size_t filled = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, stop));
  while (filled < front.size()) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(std::span(front).subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  front.resize(filled);
  return front;
}

// What is wrong with the file itself is better told by the streaming decoder, at its place.
bool IsAboutTheFile(Code code) {
  return code == Code::kDataLoss || code == Code::kResourceExhausted || code == Code::kUnimplemented;
}

}  // namespace

Result<DecodedInput> DecodedInput::Open(const InputFile& input, std::optional<Compression> format,
                                        int threads, std::uint64_t memory, const std::stop_token& stop) {
  DecodedInput decoded;
  decoded.file_ = input.file;
  if (format) {
    decoded.compression_ = *format;
  } else {
    ASSIGN_OR_RETURN(const std::string front, ReadFront(*input.file, stop));
    ASSIGN_OR_RETURN(decoded.compression_, DetectCompression(front, input.name));
  }
  if (decoded.compression_ == Compression::kXz) {
    Result<XzIndex> index = ReadXzIndex(*input.file, stop);
    if (!index.ok() && !IsAboutTheFile(index.status().code())) return std::move(index).status();
    if (index.ok() && index->blocks.size() > 1) {
      decoded.threads_ = BlockDecoderThreads(*index, threads, memory);
      decoded.index_ = std::make_unique<const XzIndex>(std::move(index).value());
    }
  }
  return decoded;
}

Result<std::unique_ptr<ByteReader>> DecodedInput::Read(std::uint64_t raw_offset,
                                                       const std::stop_token& stop) const {
  if (threads_ > 0) return NewBlockDecoder(*file_, *index_, raw_offset, threads_, stop);
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> bytes, file_->Open(raw_offset, stop));
  return NewDecoder(compression_, std::move(bytes));
}

}  // namespace pipeline
