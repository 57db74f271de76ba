#include "stages/sources/member_pieces.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace pipeline {

MemberPieces::MemberPieces(std::unique_ptr<ReadAhead> text, std::shared_ptr<MemberBorders> members)
    : text_(std::move(text)), members_(std::move(members)) {}
MemberPieces::~MemberPieces() = default;

Result<MemberPieces::Piece> MemberPieces::Next() {
  if (pending_.empty()) {
    ASSIGN_OR_RETURN(pending_, text_->Next());
  }
  std::size_t bytes = pending_.size();
  if (members_ != nullptr) {
    // A border is known before the first byte behind it is.
    if (std::optional<MemberBorders::Border> border = members_->Take(given_))
      return Piece{std::move(border), {}};
    if (const std::optional<std::uint64_t> next = members_->next())
      bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, *next - given_));
  }
  const Piece piece = {std::nullopt, pending_.substr(0, bytes)};
  pending_.remove_prefix(bytes);
  given_ += bytes;
  return piece;
}

Status CountMembers(const MemberBorders& members, StageCounts& counts) {
  const MemberBorders::Counts found = members.counts();
  if (found.members == 0 && found.left_out > 0)
    return Status(Code::kInvalidArgument,
                  StrCat("none of its ", found.left_out, " files has a name that the ",
                         "patterns of `members` describe"));
  counts.Add("members", found.members);
  if (found.not_files > 0) counts.Add("members_not_files", found.not_files);
  if (found.left_out > 0) counts.Add("members_left_out", found.left_out);
  return {};
}

}  // namespace pipeline
