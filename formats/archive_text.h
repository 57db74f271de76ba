// The contents of the members of an archive, concatenated as one text. Rules: formats/archive.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "formats/archive_reader.h"
#include "formats/encoding_reader.h"
#include "formats/known_format.h"

namespace pipeline {

struct ArchiveRules {
  std::vector<std::string> members;  // patterns of names; empty: every member
  std::uint64_t max_ratio = 200;     // largest number of bytes of text per byte of the file
  /// Returns the split of a member, by its name as stored in the archive. Empty: no splits.
  std::function<Result<std::uint8_t>(std::string_view name)> split_of;
  std::optional<Encoding> encoding;    // of each member; absent: the bytes decide
  bool by_letters = true;              // how the bytes decide: GuessEncoding
  TextForms forms = TextForms::kRows;  // others are refused
};

/// Passes the borders of members from the thread that reads the archive to the thread that cuts the text. A
/// border is added before the first byte of its member is returned. Safe from any thread.
class MemberBorders {
 public:
  struct Border {
    std::uint64_t offset = 0;                // start of the member in the text
    std::string name;                        // printable
    std::uint8_t split = 0;                  // from split_of
    std::shared_ptr<EncodingChoice> choice;  // encoding of the member; null in a default border
  };
  struct Counts {
    std::uint64_t members = 0;
    std::uint64_t not_files = 0;
    std::uint64_t left_out = 0;
    bool operator==(const Counts&) const = default;
  };

  /// Adds the border of the next member.
  void Add(Border border);
  /// Adds one to a member of the counts.
  void Count(std::uint64_t Counts::*what);
  /// Removes and returns the first border if its offset is at most `offset`.
  std::optional<Border> Take(std::uint64_t offset);
  /// Offset of the first border; absent: none is known.
  std::optional<std::uint64_t> next() const;
  /// Complete for the archive once its text has ended.
  Counts counts() const;

 private:
  mutable Mutex mutex_;
  std::deque<Border> borders_ GUARDED_BY(mutex_);  // guarded by mutex_, as below
  Counts counts_ GUARDED_BY(mutex_);
};

/// Reads the members one after another. max_ratio is checked against `file_bytes`, the bytes of the file
/// read so far, and `size`, the size of the file. One Read never returns bytes of two members.
std::unique_ptr<ByteReader> NewArchiveText(std::unique_ptr<ArchiveReader> archive, ArchiveRules rules,
                                           std::function<std::uint64_t()> file_bytes, std::uint64_t size,
                                           std::shared_ptr<MemberBorders> borders);

}  // namespace pipeline
