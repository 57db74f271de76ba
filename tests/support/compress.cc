#include "tests/support/compress.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

namespace pipeline {

std::string XzCompress(std::string_view text, std::size_t block_bytes) {
  std::string out(text.size() + text.size() / 2 + 65536, '\0');
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_easy_encoder(&stream, 1, LZMA_CHECK_CRC64), LZMA_OK);
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.size();
  while (true) {
    const std::size_t bytes = block_bytes == 0 ? text.size() : std::min(block_bytes, text.size());
    stream.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
    stream.avail_in = bytes;
    text.remove_prefix(bytes);
    const lzma_action action = text.empty() ? LZMA_FINISH : LZMA_FULL_FLUSH;
    EXPECT_EQ(lzma_code(&stream, action), LZMA_STREAM_END);
    if (action == LZMA_FINISH) break;
  }
  out.resize(stream.total_out);
  lzma_end(&stream);
  return out;
}

std::string ZstdCompress(std::string_view text, int window_log) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  EXPECT_FALSE(ZSTD_isError(size)) << ZSTD_getErrorName(size);
  ZSTD_freeCCtx(context);
  out.resize(size);
  return out;
}

std::string GzipCompress(std::string_view text) {
  std::string out(text.size() + text.size() / 2 + 1024, '\0'), in(text);
  std::vector<std::uint8_t> level(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.level = 1;
  stream.level_buf = level.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level.size());
  stream.next_in = reinterpret_cast<std::uint8_t*>(in.data());
  stream.avail_in = static_cast<std::uint32_t>(in.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  EXPECT_EQ(stream.internal_state.state, ZSTATE_END);
  out.resize(stream.total_out);
  return out;
}

std::string Bzip2Compress(std::string_view text) {
  std::string out(text.size() + text.size() / 50 + 1024, '\0'), in(text);
  auto size = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &size, in.data(), static_cast<unsigned>(in.size()), 1, 0, 0),
            BZ_OK);
  out.resize(size);
  return out;
}

std::string Lz4Compress(std::string_view text) {
  LZ4F_preferences_t how{};
  how.frameInfo.blockSizeID = LZ4F_max64KB;
  how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  how.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(text.size(), &how), '\0');
  const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), text.data(), text.size(), &how);
  EXPECT_FALSE(LZ4F_isError(size)) << LZ4F_getErrorName(size);
  out.resize(size);
  return out;
}

}  // namespace pipeline
