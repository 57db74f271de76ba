// What stands in the members of an archive, back to back, as one text. Rules: formats/archive.md.
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

namespace pipeline {

struct ArchiveRules {
  std::vector<std::string> members;  // patterns of names; empty: every member
  std::uint64_t max_ratio = 200;     // bytes of text for each byte of the file
  /// The split of a member that is read, by its name as the archive has it. Empty: they have none.
  std::function<Result<std::uint8_t>(std::string_view name)> split_of;
  std::optional<Encoding> encoding;  // of each member; absent: its bytes decide
  bool markup_is_text = false;       // formats of text that formats/known_formats.md refuses are read, too
};

/// Where members begin, told from the thread that reads the archive to the one that cuts its text. A
/// member is here before any of its bytes is given out. Safe from any thread.
class MemberBorders {
 public:
  struct Border {
    std::uint64_t offset = 0;                // in the text
    std::string name;                        // printable
    std::uint8_t split = 0;                  // as split_of says
    std::shared_ptr<EncodingChoice> choice;  // of the member's encoding; null in an empty border
  };
  struct Counts {
    std::uint64_t members = 0;
    std::uint64_t not_files = 0;
    std::uint64_t left_out = 0;
    bool operator==(const Counts&) const = default;
  };

  /// Takes out the first border if it lies at `offset` or before.
  std::optional<Border> Take(std::uint64_t offset);
  /// Where the first border lies, if one is known.
  std::optional<std::uint64_t> next() const;
  /// Of the whole archive once its text has ended.
  Counts counts() const;

 private:
  friend class ArchiveText;
  mutable Mutex mutex_;
  std::deque<Border> borders_ GUARDED_BY(mutex_);  // guarded by mutex_, as below
  Counts counts_ GUARDED_BY(mutex_);
};

/// `file_bytes` says how much of the file was read so far, `size` is all of it: what max_ratio is held
/// against. A read never gives bytes of two members.
class ArchiveText : public ByteReader {
 public:
  ArchiveText(std::unique_ptr<ArchiveReader> archive, ArchiveRules rules,
              std::function<std::uint64_t()> file_bytes, std::uint64_t size,
              std::shared_ptr<MemberBorders> borders);
  ~ArchiveText() override;
  Result<std::size_t> Read(std::span<char> out) override;

 private:
  Result<std::size_t> ReadText(std::span<char> out);
  Result<bool> OpenMember();
  Status CheckRatio();

  const std::unique_ptr<ArchiveReader> archive_;
  const ArchiveRules rules_;
  const std::function<std::uint64_t()> file_bytes_;
  const std::uint64_t size_;
  const std::shared_ptr<MemberBorders> borders_;
  std::string name_;                    // of the member, printable
  std::unique_ptr<ByteReader> member_;  // decoded; null between members
  std::uint64_t text_ = 0;
  std::uint64_t member_text_ = 0;   // where the member began in the text
  std::uint64_t member_bytes_ = 0;  // and in the file
  bool ended_ = false;
  Status failure_;
};

}  // namespace pipeline
