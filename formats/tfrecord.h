// TFRecord: records of any bytes in frames with checksums. Format: formats/tfrecord.md.
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

/// What a frame adds to its record, in bytes.
inline constexpr std::size_t kTfRecordOverhead = 16;

/// Appends one record.
void AppendTfRecord(std::string& out, std::string_view data);

/// For a record that is built where it will lie: the header, then exactly `length` bytes by the
/// caller, then AppendTfRecordFooter with the offset in `out` at which those bytes begin.
void AppendTfRecordHeader(std::string& out, std::uint64_t length);
void AppendTfRecordFooter(std::string& out, std::size_t data_begin);

/// A record is damaged, or longer than it may be.
struct DamagedRecord final : StatusDetail {
  explicit DamagedRecord(std::string words) : why(std::move(words)) {}
  std::string why;  // for people, without its offset
};

/// Reads a file front to back and checks both checksums of each record. One thread at a time; the
/// ByteReader belongs to the caller and outlives it. Holds at most one record and a read-ahead of
/// 256 KiB, and takes memory only as bytes arrive, whatever a length claims.
class TfRecordReader {
 public:
  /// `offset` is where in the file `input` begins, at a record.
  TfRecordReader(ByteReader& input, std::uint64_t max_record_bytes, std::uint64_t offset = 0);

  /// The next record, valid until the next call; absent at the end of the file. After an error
  /// every further call gives the same error.
  Result<std::optional<std::string_view>> Next();

  /// Where in the file the record that Next() gives next begins.
  std::uint64_t offset() const { return offset_; }

 private:
  /// Makes the next `count` bytes of the file lie at begin_, or as many as are left.
  Status Fill(std::size_t count);
  std::size_t available() const { return end_ - begin_; }
  /// Remembers the failure of the record at offset_.
  Status Fail(Code code, std::string_view what);

  ByteReader& input_;
  std::uint64_t max_record_bytes_;
  std::uint64_t offset_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;  // of the input
  Status failure_;
};

}  // namespace pipeline
