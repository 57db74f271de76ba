#include "stages/sources/line_reasons.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

std::vector<Reason> LineReasons() {
  using enum Reason::Of;
  using enum Reason::Fate;
  return {
      {"long_quarantined", "It was longer than `max_record_bytes` and was set aside.", kLookedAt, kDropped},
      {"long_split", "It was longer than `max_record_bytes` and became several records.", kLookedAt},
      {"crlf", "It ended in CR LF.", kLookedAt},
      {"cr", "It ended in CR, as the first lines of its text do.", kLookedAt},
      {"lf_among_cr", "It ended in LF, where the first lines of its text end in CR.", kLookedAt},
      {"decoded_*", "It was decoded from another encoding than UTF-8.", kLookedAt},
      {"document_cut", "A partition ended inside it.", kDocuments},
      {"outside_subset", "It was read and is not in the `subset`.", kRecords, kNotMeant},
      Tally("blank_lines", "Blank lines, which are no records."),
      Tally("bom", "Byte order marks, which are no text."),
      Tally("members", "Members of archives that were read."),
      Tally("members_not_files", "Members of archives that are directories, links and the like."),
      Tally("members_left_out", "Members of archives that `members` leaves out."),
      Tally("split_*", "Files, and members of archives with text, of the split of that name.")};
}

void AddCutReasons(const CutCounts& cut, StageCounts& counts) {
  const auto add = [&counts](std::string_view reason, std::uint64_t by) {
    if (by > 0) counts.Add(reason, by);
  };
  add("blank_lines", cut.blank_lines);
  add("bom", cut.bom);
  add("crlf", cut.crlf);
  add("cr", cut.cr);
  add("lf_among_cr", cut.lf);
  add("long_split", cut.long_split);
  add("long_quarantined", cut.long_quarantined);
  add("document_cut", cut.document_cut);
}

std::string DecodedReason(Encoding encoding) {
  std::string name = StrCat("decoded_", EncodingName(encoding));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace pipeline
