// Spill file: the payloads of a partition in shuffled order. Format: formats/spill_file.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "base/result.h"
#include "formats/coding.h"
#include "formats/footer.h"
#include "formats/zstd_frame.h"

namespace pipeline {

inline constexpr FooterKind kSpillKind = {"spill file", "PIPESPIL", 1};
inline constexpr std::size_t kSpillFrameBytes = 64 << 10;    // uncompressed; a larger row is alone
inline constexpr std::size_t kMaxSpillFrameBytes = 1 << 30;  // uncompressed

/// Number of equal hash ranges (bins) that have counts of their own.
inline constexpr std::uint32_t kSpillBins = 4096;
constexpr std::uint32_t SpillBinOf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 52); }
constexpr std::uint64_t FirstHashOfSpillBin(std::uint32_t bin) { return std::uint64_t{bin} << 52; }

struct SpillRow {
  std::uint64_t hash = 0;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string_view payload;
};

/// Reads the next row from the uncompressed content of a frame. Check `frame.ok()` afterwards.
inline SpillRow TakeSpillRow(Decoder& frame) {
  return {frame.U64(), frame.Varint(), frame.Varint32(), frame.Bytes(frame.Varint())};
}

/// Writes a spill. One thread at a time.
class SpillFileWriter {
 public:
  struct Options {
    bool compress = false;
    std::size_t frame_bytes = kSpillFrameBytes;  // at most kSpillFrameBytes
  };
  /// `append` receives the bytes of the file, front to back.
  SpillFileWriter(std::uint32_t input, std::uint32_t partition, const Options& options,
                  std::function<Status(std::string_view)> append);
  /// Begins a split of `records` rows. Splits come in ascending order, each once.
  Status BeginSplit(std::uint8_t split, std::uint64_t records);
  /// Adds a row. Rows come in the order of (hash, index, sub). kInvalidArgument: the row fits into no
  /// frame.
  Status Add(const SpillRow& row);
  /// Writes the end of the file and returns the digest of all rows. No call may follow.
  Result<Digest> Finish();

 private:
  struct Bin {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  Status Begin();
  Status EndFrame();
  Status EndSplit();

  const std::uint32_t input_;
  const std::uint32_t partition_;
  const Options options_;
  std::function<Status(std::string_view)> append_;
  ZstdFrameCoder coder_;
  Hasher hasher_;
  std::string splits_;  // entries of the footer
  std::uint64_t split_count_ = 0;
  bool begun_ = false;
  // The open split.
  bool in_split_ = false;
  std::array<Bin, kSpillBins> bins_{};
  std::string entries_;  // footer entries of its frames
  std::uint64_t frames_ = 0;
  // The open frame.
  std::string frame_, row_, stored_;
  std::uint64_t first_hash_ = 0;
  std::uint64_t records_ = 0;
};

struct SpillFrame {
  std::uint64_t first_hash = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint32_t stored = 0;  // bytes in the file
  std::uint32_t raw = 0;     // bytes of the uncompressed rows
  std::uint32_t records = 0;
  std::uint32_t crc32c = 0;  // of the stored bytes
};

struct SpillBin {
  std::uint32_t bin = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the payloads
};

struct SpillSplit {
  std::uint8_t number = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;         // of the payloads
  std::vector<SpillBin> bins;      // bins with records, by number
  std::vector<SpillFrame> frames;  // in the order of first_hash
};

struct SpillIndex {
  std::uint32_t input = 0;
  std::uint32_t partition = 0;
  bool compressed = false;
  std::vector<SpillSplit> splits;  // splits with records, by number
  Digest digest;
  std::uint64_t footer_bytes = 0;  // bytes read to build this index
};

/// Error messages name offsets in the file, not the file.
Result<SpillIndex> ReadSpillIndex(const ByteFile& file, std::stop_token stop);

/// Checks the stored bytes of `frame` and replaces them by its uncompressed rows.
Status OpenSpillFrame(const SpillFrame& frame, bool compressed, ZstdFrameCoder& coder, std::string& bytes);

}  // namespace pipeline
