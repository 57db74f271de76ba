// Streamed in any pieces, and by the block index where there is one: the same text.
#include "formats/xz.h"
#include "tests/fuzz/decoder_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckDecoder(*Compression::Named("xz"), bytes);

  const auto index = ReadXzIndex(MemoryFile(std::string(bytes)), {});
  if (!index.ok() || index->raw_bytes >= (1u << 20)) return 0;
  std::string text;
  Status status;
  for (const XzBlock& block : index->blocks) {
    Require(block.raw_offset == text.size() && block.offset + block.bytes <= size);
    MemoryReader input(std::string(bytes.substr(block.offset)));
    const std::unique_ptr<ByteReader> reader = NewXzBlockReader(block, input);
    const std::string block_text = ReadAll(*reader, status, 1 + size % 1000);
    if (!status.ok()) break;
    Require(block_text.size() == block.raw_bytes);
    text += block_text;
  }
  const Decoded streamed = DecodeSome(*Compression::Named("xz"), bytes, size + 1, 1 << 16);
  if (status.ok() && streamed.status.ok()) Require(text == streamed.text);
  Require(status.ok() || !streamed.status.ok());
  return 0;
}
