// The lines of a text file, plain or compressed as in formats/compression.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// One thread at a time.
class TextLines {
 public:
  /// `file` must outlive the lines. `name`: its path or the last part of it.
  static Result<TextLines> Open(const ByteFile& file, std::string_view name);

  /// Returns the next line without its LF, valid until the next call; absent: the end. kInvalidArgument: a
  /// line is so long that this is no text.
  Result<std::optional<std::string_view>> Next();
  /// The number of the line that Next returned, from 1.
  std::uint64_t number() const { return number_; }

 private:
  explicit TextLines(std::unique_ptr<ByteReader> reader);

  std::unique_ptr<ByteReader> reader_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of the bytes in the buffer that no line has
  std::string line_;
  std::uint64_t number_ = 0;
};

/// True if the file that begins with `front` is text once it is decoded.
bool IsTextFile(const ByteFile& file, std::string_view front, std::string_view name);

}  // namespace pipeline
