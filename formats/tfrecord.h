// TFRecord: arbitrary records in frames with checksums. Format: formats/tfrecord.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Bytes that a frame adds to its record.
inline constexpr std::size_t kTfRecordOverhead = 16;

/// Appends one record.
void AppendTfRecord(std::string& out, std::string_view data);

/// True if `front`, the first bytes of a file, is the intact header of a frame.
bool BeginsLikeTfRecord(std::string_view front);

/// Returns the record of a frame that is all of `bytes`; absent: it is no frame. Checks the length
/// alone.
std::optional<std::string_view> TfRecordIn(std::string_view bytes);

/// For a record that is built in place: call AppendTfRecordHeader, append exactly `length` bytes, then call
/// AppendTfRecordFooter with the offset in `out` where these bytes begin.
void AppendTfRecordHeader(std::string& out, std::uint64_t length);
void AppendTfRecordFooter(std::string& out, std::size_t data_begin);

/// A record is damaged or too long.
struct DamagedRecord final : StatusDetail {
  explicit DamagedRecord(std::string words) : why(std::move(words)) {}
  std::string why;  // for people; without the offset
};

/// Reads a file front to back and checks both checksums of each record. One thread at a time. The caller
/// owns the ByteReader, which must outlive the reader. Holds at most one record and a read-ahead of 256
/// KiB; memory grows with the bytes that arrive, not with the length that a header markers.
class TfRecordReader {
 public:
  /// `offset`: position in the file where `input` begins, at a record.
  TfRecordReader(ByteReader& input, std::uint64_t max_record_bytes, std::uint64_t offset = 0);

  /// Returns the next record, valid until the next call; absent at the end of the file. After an error
  /// every call returns the same error.
  Result<std::optional<std::string_view>> Next();

  /// Offset in the file of the next record.
  std::uint64_t offset() const { return offset_; }

 private:
  /// Brings the next `count` bytes of the file, or all that are left, to begin_.
  Status Fill(std::size_t count);
  std::size_t available() const { return end_ - begin_; }
  /// Stores the failure of the record at offset_.
  Status Fail(Code code, std::string_view what);

  ByteReader& input_;
  std::uint64_t max_record_bytes_;
  std::uint64_t offset_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;  // end of the input
  Status failure_;
};

}  // namespace pipeline
