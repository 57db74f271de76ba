// Partition file: the records of a partition between two segments. Format: formats/partition_file.md.
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
#include "formats/footer.h"
#include "formats/partition_rows.h"
#include "formats/zstd_frame.h"

namespace pipeline {

inline constexpr FooterKind kPartitionKind = {"partition file", "PIPEPART", 1};
inline constexpr std::size_t kPartitionFrameBytes = 1 << 20;     // uncompressed; a larger record is alone
inline constexpr std::size_t kMaxPartitionFrameBytes = 1 << 30;  // uncompressed

/// Facts about the partition in the footer, beside the rows.
struct PartitionFacts {
  std::uint32_t input = 0;
  std::uint32_t partition = 0;
  std::uint64_t raw_end = 0;
  std::uint64_t document_end = 0;
  bool operator==(const PartitionFacts&) const = default;
};

/// Encodes rows as frames. Each thread has its own encoder; the same rows give the same bytes in all of
/// them.
class PartitionFrameEncoder {
 public:
  explicit PartitionFrameEncoder(PartitionColumns columns) : columns_(std::move(columns)) {}
  /// Appends `rows` to `frames` as whole frames with their sizes. kInvalidArgument: a record fits into no
  /// frame.
  Status Encode(const RowsView& rows, std::string& frames);

 private:
  PartitionColumns columns_;
  ZstdFrameCoder coder_;
  std::string raw_;
};

/// Writes frames in order. One thread at a time.
class PartitionFileWriter {
 public:
  /// `append` receives the bytes of the file, front to back.
  PartitionFileWriter(PartitionColumns columns, std::function<Status(std::string_view)> append);
  /// `frames`: the output of an encoder for `rows`.
  Status Append(std::string_view frames, const RowsView& rows);
  /// Writes the end of the file. No Append may follow.
  Status Finish(const PartitionFacts& facts);
  /// Digest of the rows so far; it does not depend on frame borders.
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
  /// Reads and checks the footer. Error messages name offsets in the file, not the file.
  static Result<std::unique_ptr<PartitionFileReader>> Open(std::shared_ptr<const ByteFile> file,
                                                           std::stop_token stop);

  const PartitionFacts& facts() const { return facts_; }
  const PartitionColumns& columns() const { return columns_; }
  std::uint64_t records() const { return records_; }
  /// Digest in the footer. Next checks the rows against it.
  Digest digest() const { return promised_; }

  /// Replaces `rows` by the rows of the next frame; false at the end. If the rows of the file do not have
  /// the digest of the footer, returns kDataLoss in place of the last frame.
  Result<bool> Next(PartitionRows& rows);

 private:
  struct Frame {
    std::uint32_t size = 0;  // with the frame header
    std::uint32_t records = 0;
  };
  PartitionFileReader(std::shared_ptr<const ByteFile> file, std::stop_token stop)
      : file_(std::move(file)), stop_(std::move(stop)) {}
  Status ParseFooter(std::string_view footer, std::uint64_t footer_offset);
  Status ReadFrame(const Frame& frame, PartitionRows& rows);

  std::shared_ptr<const ByteFile> file_;  // shared with other readers of the object
  std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // opened by the first Next
  PartitionFacts facts_;
  PartitionColumns columns_;
  std::vector<Frame> frames_;
  std::uint64_t records_ = 0;
  Digest promised_;
  std::size_t next_ = 0;      // number of the next frame
  std::uint64_t offset_ = 0;  // offset of that frame
  std::unique_ptr<RowsDigest> found_;
  ZstdFrameCoder coder_;
  std::string stored_, raw_;
};

}  // namespace pipeline
