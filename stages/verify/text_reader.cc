#include "stages/verify/text_reader.h"

#include "base/base64.h"
#include "base/str.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

Result<TextLines> TextReader::Open(const ShardFile& shard) const {
  return TextLines::Open(shard.bytes, shard.name, shard.number ? Encoding::kUtf8 : encoding_);
}

Status TextReader::Print(const ShardFile& shard, RecordOutput& output) const {
  ASSIGN_OR_RETURN(TextLines lines, Open(shard));
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
  ASSIGN_OR_RETURN(TextLines lines, Open(shard));
  std::uint64_t documents = 0;
  for (bool inside = false;;) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) break;
    const bool blank = IsBlankLine(*line);
    if (!blank && !inside) ++documents;
    inside = !blank;
    if (blank) continue;
    if (!IsCleanUtf8(*line))
      return Status(Code::kInvalidArgument, StrCat("line ", lines.number(),
                                                   " has bytes that are not UTF-8; name the output of a "
                                                   "stage that reads the file: it says how many "
                                                   "such lines there are"));
    statistics.AddText(*line);
  }
  statistics.AddDocuments(documents);
  return {};
}

}  // namespace pipeline
