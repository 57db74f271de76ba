// The decoded text of an input in pieces, none of which has bytes of two members of an archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "dag/records/counts.h"
#include "formats/archive_text.h"
#include "stages/sources/read_ahead.h"

namespace pipeline {

/// One thread at a time.
class MemberPieces {
 public:
  /// Either the border of a member, whose text follows, or bytes; neither: the end.
  struct Piece {
    std::optional<MemberBorders::Border> border;
    std::string_view bytes;  // valid until the next call
  };

  /// `members`: of the archive that `text` reads from its front; null: the input is none.
  MemberPieces(std::unique_ptr<ReadAhead> text, std::shared_ptr<MemberBorders> members);
  ~MemberPieces();

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
