// The payloads of a partition in shuffled order. Format: formats/spill_file.md.
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
#include "formats/zstd_frame.h"

namespace pipeline {

inline constexpr std::size_t kSpillFrameBytes = 64 << 10;    // uncompressed, save for one larger row
inline constexpr std::size_t kMaxSpillFrameBytes = 1 << 30;  // uncompressed

/// Equal ranges of the hash that are counted one by one.
inline constexpr std::uint32_t kSpillBins = 4096;
constexpr std::uint32_t SpillBinOf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 52); }
constexpr std::uint64_t FirstHashOfSpillBin(std::uint32_t bin) { return std::uint64_t{bin} << 52; }

struct SpillRow {
  std::uint64_t hash = 0;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  std::string_view payload;
};

/// Takes the next row of a frame's uncompressed content; look at `frame.ok()` afterwards.
inline SpillRow TakeSpillRow(Decoder& frame) {
  SpillRow row;
  row.hash = frame.U64();
  row.index = frame.Varint();
  row.sub = frame.Varint32();
  row.payload = frame.Bytes(frame.Varint());
  return row;
}

/// Writes a spill. One thread at a time.
class SpillFileWriter {
 public:
  struct Options {
    bool compress = false;
    std::size_t frame_bytes = kSpillFrameBytes;  // at most kSpillFrameBytes
  };
  /// `append` takes the bytes of the file, front to back.
  SpillFileWriter(std::uint32_t input, std::uint32_t partition, const Options& options,
                  std::function<Status(std::string_view)> append);
  /// Begins a split of so many rows; splits come by number, each once.
  Status BeginSplit(std::uint8_t split, std::uint64_t records);
  /// Rows come by (hash, index, sub). kInvalidArgument for a row that no frame can hold.
  Status Add(const SpillRow& row);
  /// Writes what ends the file, and gives the digest of all rows. No call may follow.
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
  std::string splits_;  // of the footer
  std::uint64_t split_count_ = 0;
  bool begun_ = false;
  // The open split.
  bool in_split_ = false;
  std::array<Bin, kSpillBins> bins_{};
  std::string entries_;  // of its frames
  std::uint64_t frames_ = 0;
  // The open frame.
  std::string frame_, row_, stored_;
  std::uint64_t first_hash_ = 0;
  std::uint64_t records_ = 0;
};

struct SpillFrame {
  std::uint64_t first_hash = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint32_t stored = 0;  // bytes there
  std::uint32_t raw = 0;     // bytes of its rows
  std::uint32_t records = 0;
  std::uint32_t crc32c = 0;  // of the stored bytes
};

struct SpillBin {
  std::uint32_t bin = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of payloads
};

struct SpillSplit {
  std::uint8_t number = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;         // of payloads
  std::vector<SpillBin> bins;      // those with records, by number
  std::vector<SpillFrame> frames;  // by first hash
};

struct SpillIndex {
  std::uint32_t input = 0;
  std::uint32_t partition = 0;
  bool compressed = false;
  std::vector<SpillSplit> splits;  // those with records, by number
  Digest digest;
  std::uint64_t footer_bytes = 0;  // what was read to know all this
};

/// Messages name offsets in the file, not the file.
Result<SpillIndex> ReadSpillIndex(const ByteFile& file, std::stop_token stop);

/// Checks what was read of `frame` and turns it into its rows, in place.
Status OpenSpillFrame(const SpillFrame& frame, bool compressed, ZstdFrameCoder& coder, std::string& bytes);

}  // namespace pipeline
