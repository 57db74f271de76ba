// ArrayRecord: records with random access, as Grain reads them. Format: formats/array_record.md.
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

/// The first bytes of every file that is one.
inline constexpr std::size_t kArrayRecordFront = 64;
bool BeginsLikeArrayRecord(std::string_view front);

/// Makes a file front to back: each call appends to `out` what comes next in it. Holds 16 bytes for each
/// record until Finish, which makes the footer of them: about 60 at the most.
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

/// Reads a file of that form. One thread at a time; the file outlives it. Holds the footer and one record.
class ArrayRecordReader {
 public:
  /// Reads the footer. kDataLoss where there is none.
  static Result<std::unique_ptr<ArrayRecordReader>> Open(const ByteFile& file, std::stop_token stop);

  std::uint64_t records() const { return chunks_.size(); }
  /// Where the chunk of the record that Next() gives next begins; the footer after the last.
  std::uint64_t offset() const { return next_ < chunks_.size() ? chunks_[next_].offset : footer_; }
  /// Of the record that Next() gives next; 0 after the last.
  std::uint64_t size() const { return next_ < chunks_.size() ? chunks_[next_].size : 0; }
  /// The next record, valid until the next call; absent after the last. After kDataLoss the next call goes on
  /// with the record behind.
  Result<std::optional<std::string_view>> Next();

 private:
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // of its record
  };
  ArrayRecordReader(const ByteFile& file, std::stop_token stop) : file_(file), stop_(std::move(stop)) {}
  Status ReadEnd();
  Status TakeFooter(const std::vector<std::string_view>& records);
  /// The records of the chunk at `offset`, which ends at `end` at the latest; they lie in data_.
  Result<std::vector<std::string_view>> ReadChunk(std::uint64_t offset, std::uint64_t end);
  /// Appends `size` bytes of the chunk that began at `begin` to data_, without block headers.
  Status Take(std::uint64_t begin, std::uint64_t size);

  const ByteFile& file_;
  const std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // stands at at_
  std::uint64_t at_ = 0;
  std::uint64_t footer_ = 0;
  std::vector<Chunk> chunks_;
  std::size_t next_ = 0;
  std::string data_;
};

}  // namespace pipeline
