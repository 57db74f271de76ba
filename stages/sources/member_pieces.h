// The decoded text of an input in pieces, none of which has bytes of two members of an archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/result.h"
#include "dag/records/counts.h"
#include "formats/archive_text.h"

namespace pipeline {

/// Reads bytes front to back and returns views, not copies. One thread at a time.
class ReadAhead {
 public:
  enum class Where : std::uint8_t { kOwnThread, kCallersThread };
  /// Reads `input` on a new thread, up to 4 MiB ahead of the caller, or in Next, 64 KiB at a time. `stop`:
  /// the source of the token that `input` was opened with; the destructor requests stop and waits for the
  /// thread.
  static std::unique_ptr<ReadAhead> Open(std::unique_ptr<ByteReader> input, std::stop_source stop,
                                         Where where = Where::kOwnThread);
  virtual ~ReadAhead() = default;

  /// The next bytes, valid until the next call; empty: the end, also for all later calls. kCancelled soon
  /// after any request to `stop`. After an error every call returns the same error.
  virtual Result<std::string_view> Next() = 0;
};

/// One thread at a time.
class MemberPieces {
 public:
  /// Either the border of a member, whose text follows, or bytes; neither: the end.
  struct Piece {
    std::optional<MemberBorders::Border> border;
    std::string_view bytes;  // valid until the next call
  };

  /// `members`: of the archive that `text` reads from its front; null: the input is none.
  MemberPieces(std::unique_ptr<ReadAhead> text, std::shared_ptr<MemberBorders> members)
      : text_(std::move(text)), members_(std::move(members)) {}

  Result<Piece> Next();

 private:
  const std::unique_ptr<ReadAhead> text_;
  const std::shared_ptr<MemberBorders> members_;
  std::string_view pending_;  // lent by text_, not yet given
  std::uint64_t given_ = 0;   // bytes of the text
};

/// Adds the number of members to `counts`, and of those that were left out. kInvalidArgument: all were left
/// out by their names.
Status CountMembers(const MemberBorders& members, StageCounts& counts);

}  // namespace pipeline
