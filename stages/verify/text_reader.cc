#include "stages/verify/text_reader.h"

#include "base/base64.h"
#include "base/str.h"
#include "stages/verify/text_lines.h"
#include "text/utf8.h"

namespace pipeline {

Status TextReader::Print(const ShardFile& shard, RecordOutput& output) const {
  ASSIGN_OR_RETURN(TextLines lines, TextLines::Open(shard.bytes, shard.name));
  while (!output.done()) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) return {};
    if (!output.json()) {
      output.Line(*line);
      continue;
    }
    Json json;
    json["line"] = lines.number();
    json["text"] = TextOrBase64(*line);
    output.Object(json);
  }
  return {};
}

Status TextReader::Count(const ShardFile& shard, RecordStatistics& statistics) const {
  ASSIGN_OR_RETURN(TextLines lines, TextLines::Open(shard.bytes, shard.name));
  std::uint64_t documents = 0;
  for (bool inside = false;;) {
    ASSIGN_OR_RETURN(std::optional<std::string_view> line, lines.Next());
    if (!line) break;
    if (line->ends_with('\r')) line->remove_suffix(1);
    const bool blank = line->find_first_not_of(" \t") == std::string_view::npos;
    if (!blank && !inside) ++documents;
    inside = !blank;
    if (blank) continue;
    if (!IsCleanUtf8(*line))
      return Status(
          Code::kInvalidArgument,
          StrCat("line ", lines.number(), " is not UTF-8; name the output of a stage that decodes it"));
    statistics.AddText(*line);
  }
  statistics.AddDocuments(documents);
  return {};
}

}  // namespace pipeline
