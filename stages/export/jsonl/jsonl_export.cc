#include "stages/export/jsonl/jsonl_export.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "stages/export/jsonl/jsonl.h"
#include "stages/verify/text_lines.h"
#include "text/span_corruption.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

/// Verifies rows with the keys of their stage alone, because no object describes them.
class JsonlCheck final : public ExportCheck {
 public:
  explicit JsonlCheck(const ExportLocation& artifact)
      : ExportCheck(artifact),
        members_(JsonlMembers(config(), manifest().schema)),
        pairs_(CorruptsSpans(config())) {}

  void VerifyManifest(Findings& findings) const override {
    VerifyShardNames(std::bind_front(JsonlObjectName, std::cref(config())), findings);
    if (!pairs_ && config()["unit"].AsString() == "record") VerifySums(findings, RecordsOf(manifest()));
  }

  /// Verifies that each line is an object with the members that the stage writes, and all of it clean text;
  /// for span corruption also that the sentinels of source and target belong together.
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    return VerifyLines(
        file, shard, [this](std::string_view line) { return WrongWith(line); }, stop(), findings, counts);
  }

 private:
  std::string WrongWith(std::string_view line) const {
    if (!IsCleanUtf8(line)) return "is not UTF-8, or holds NUL";
    const Result<std::vector<std::string>> texts = ParseJsonlRow(line, members_);
    if (!texts.ok()) return std::string(texts.status().message());
    if (pairs_ && !JoinSpans((*texts)[0], (*texts)[1]))
      return "the sentinels of source and target do not belong together";
    return {};
  }

  const std::vector<std::string> members_;
  const bool pairs_;
};

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
  return {
      .stage = WriteJsonlType(), .verify = NewCheck<JsonlCheck>, .read = ReadJsonl, .claims = IsJsonlFile};
}

}  // namespace pipeline
