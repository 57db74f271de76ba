// ArrayRecord: records with random access, for Grain. Format: formats/array_record.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// Number of leading bytes that are the same in every ArrayRecord file.
inline constexpr std::size_t kArrayRecordFront = 64;
bool BeginsLikeArrayRecord(std::string_view front);

/// Writes a file front to back: each call appends the next bytes to `out`. Holds 16 bytes per record until
/// Finish, and at most about 60 per record while Finish builds the footer.
class ArrayRecordWriter {
 public:
  void Append(std::string_view record, std::string& out);
  /// No call may follow.
  void Finish(std::string& out);

 private:
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;  // of its record
  };
  void Begin(std::string& out);
  void WriteRecords(const std::vector<std::string_view>& records, std::string& out);
  void WriteChunk(char type, std::uint64_t records, std::uint64_t decoded, std::string_view data,
                  std::string& out);
  void WriteParts(std::string_view bytes, std::uint64_t zeros, std::uint64_t begin, std::uint64_t end,
                  std::string& out);
  void PadToBlock(std::string& out);

  std::uint64_t at_ = 0;  // in the file
  std::vector<Chunk> chunks_;
  std::string data_;  // of a chunk
};

/// Reads an ArrayRecord file. One thread at a time; `file` must outlive the reader. Holds the footer and
/// one record.
class ArrayRecordReader {
 public:
  /// Reads the footer. kDataLoss: there is none.
  static Result<std::unique_ptr<ArrayRecordReader>> Open(const ByteFile& file, std::stop_token stop);

  std::uint64_t records() const { return chunks_.size(); }
  /// Offset of the chunk of the next record; after the last record, of the footer.
  std::uint64_t offset() const { return next_ < chunks_.size() ? chunks_[next_].offset : footer_; }
  /// Bytes of the next record; 0 after the last.
  std::uint64_t size() const { return next_ < chunks_.size() ? chunks_[next_].size : 0; }
  /// Returns the next record, valid until the next call; absent after the last. After kDataLoss the next
  /// call continues with the following record.
  Result<std::optional<std::string_view>> Next();

 private:
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // of its record
  };
  ArrayRecordReader(const ByteFile& file, std::stop_token stop) : file_(file), stop_(std::move(stop)) {}
  Status ReadEnd();
  Status TakeFooter(const std::vector<std::string_view>& records);
  /// Reads the records of the chunk at `offset`, which ends at or before `end`. They refer to data_.
  Result<std::vector<std::string_view>> ReadChunk(std::uint64_t offset, std::uint64_t end);
  /// Appends `size` bytes of the chunk that began at `begin` to data_, without block headers.
  Status Take(std::uint64_t begin, std::uint64_t size);

  const ByteFile& file_;
  const std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // positioned at at_
  std::uint64_t at_ = 0;
  std::uint64_t footer_ = 0;
  std::vector<Chunk> chunks_;
  std::size_t next_ = 0;
  std::string data_;
};

}  // namespace pipeline
