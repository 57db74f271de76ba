// The records of a partition between two segments. Format: formats/partition_file.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "base/result.h"
#include "formats/partition_rows.h"
#include "formats/zstd_frame.h"

namespace pipeline {

inline constexpr std::size_t kPartitionFrameBytes = 1 << 20;     // uncompressed, save for one larger record
inline constexpr std::size_t kMaxPartitionFrameBytes = 1 << 30;  // uncompressed

/// What a partition file says about its partition, beside the rows.
struct PartitionFacts {
  std::uint32_t input = 0;
  std::uint32_t partition = 0;
  std::uint64_t raw_end = 0;
  std::uint64_t document_end = 0;
  bool operator==(const PartitionFacts&) const = default;
};

/// Makes frames. Each thread has one of its own; the same rows give the same bytes in all of them.
class PartitionFrameEncoder {
 public:
  explicit PartitionFrameEncoder(PartitionColumns columns) : columns_(std::move(columns)) {}
  /// Appends `rows` to `frames` as whole frames, which know their size. kInvalidArgument for a
  /// record that no frame can hold.
  Status Encode(const RowsView& rows, std::string& frames);

 private:
  PartitionColumns columns_;
  ZstdFrameCoder coder_;
  std::string raw_;
};

/// Puts frames together in order. One thread at a time.
class PartitionFileWriter {
 public:
  /// `append` takes the bytes of the file, front to back.
  PartitionFileWriter(PartitionColumns columns, std::function<Status(std::string_view)> append);
  /// `frames` are what an encoder made of `rows`.
  Status Append(std::string_view frames, const RowsView& rows);
  /// Writes what ends the file. No Append may follow.
  Status Finish(const PartitionFacts& facts);
  /// Of the rows so far, whatever frames they came in.
  Digest digest() const { return digest_.Finish(); }

 private:
  Status Begin();
  PartitionColumns columns_;
  std::function<Status(std::string_view)> append_;
  RowsDigest digest_;
  std::string index_;  // entries of the footer
  std::uint64_t frames_ = 0;
  bool begun_ = false;
};

/// Reads a partition file front to back. One thread at a time.
class PartitionFileReader {
 public:
  /// Reads and checks the footer. Messages name offsets in the file, not the file.
  static Result<std::unique_ptr<PartitionFileReader>> Open(std::shared_ptr<const ByteFile> file,
                                                           std::stop_token stop);

  const PartitionFacts& facts() const { return facts_; }
  const PartitionColumns& columns() const { return columns_; }
  std::uint64_t records() const { return records_; }
  /// As the footer promises it; Next holds the rows against it.
  Digest digest() const { return promised_; }

  /// Replaces `rows` by those of the next frame; false at the end. Rows that do not have the
  /// promised digest are known by kDataLoss in place of the last frame.
  Result<bool> Next(PartitionRows& rows);

 private:
  struct Frame {
    std::uint32_t size = 0;  // with its header
    std::uint32_t records = 0;
  };
  PartitionFileReader(std::shared_ptr<const ByteFile> file, std::stop_token stop)
      : file_(std::move(file)), stop_(std::move(stop)) {}
  Status ParseFooter(std::string_view footer, std::uint64_t footer_offset);
  Status ReadFrame(const Frame& frame, PartitionRows& rows);

  std::shared_ptr<const ByteFile> file_;  // shared with whoever else reads the object
  std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // opened by the first Next
  PartitionFacts facts_;
  PartitionColumns columns_;
  std::vector<Frame> frames_;
  std::uint64_t records_ = 0;
  Digest promised_;
  std::size_t next_ = 0;      // frame
  std::uint64_t offset_ = 0;  // of that frame
  std::unique_ptr<RowsDigest> found_;
  ZstdFrameCoder coder_;
  std::string stored_, raw_;
};

}  // namespace pipeline
