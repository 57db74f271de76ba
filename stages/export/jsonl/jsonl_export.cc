#include "stages/export/jsonl/jsonl_export.h"

#include <string>

#include "base/json.h"
#include "base/str.h"
#include "stages/verify/text_reader.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

/// Returns the texts of a row, one behind the other. A member is a text or a list of texts.
Result<std::string> TextOfRow(std::string_view line) {
  ASSIGN_OR_RETURN(const Json row, Json::Parse(line));
  if (!row.is_object()) return NothingToCount("it");
  std::string text;
  bool any = false;
  for (const auto& [name, value] : row.AsObject()) {
    any = any || value.is_string();
    text += value.AsString();
    for (const Json& part : value.AsArray()) {
      any = any || part.is_string();
      text += part.AsString();
    }
  }
  if (!any) return NothingToCount("it");
  return text;
}

/// A row is shown as its line.
class JsonlReader final : public TextReader {
 public:
  Status Count(const ShardFile& shard, RecordStatistics& statistics) const override {
    ASSIGN_OR_RETURN(TextLines lines, Open(shard));
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
      if (!line) return {};
      if (IsBlankLine(*line)) continue;
      Result<std::string> text = TextOfRow(*line);
      if (!text.ok()) return std::move(text).status().Annotate(StrCat("line ", lines.number()));
      statistics.AddText(*text);
    }
  }
};

std::unique_ptr<const ExportReader> ReadJsonl(const OpenBeside&) { return std::make_unique<JsonlReader>(); }

bool IsJsonlFile(const NamedFile& file) {
  return file.name.find(".json") != std::string_view::npos && CheckTextFile(file.bytes, file.name).ok();
}

}  // namespace

ExportFormat JsonlExport() {
  return {.stage = WriteJsonlType(), .verify = MakeJsonlCheck, .read = ReadJsonl, .claims = IsJsonlFile};
}

}  // namespace pipeline
