#include "stages/export/jsonl/jsonl_export.h"

// Verifies JSON Lines. Their bytes: stages/export/jsonl/jsonl.md.
#include <string>
#include <string_view>
#include <vector>

#include "stages/export/jsonl/jsonl.h"
#include "text/span_corruption.h"
#include "text/utf8.h"

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
    VerifyShardNames(
        [this](std::string_view split, std::uint32_t number, std::uint32_t count) {
          return JsonlShardName(JsonlFileOf(config(), split), number, count);
        },
        findings);
    if (!pairs_ && config()["unit"].AsString() == "record") VerifySums(findings, RecordsOf(manifest()));
  }

  /// Verifies that each line is an object with the members that the stage writes, and all of it clean text;
  /// for span corruption also that the sentinels of source and target belong together.
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    return VerifyLines(
        file, shard, [this](std::string_view line) { return WrongWith(line); }, stop(), findings, counts);
  }

  Status VerifySidecar(const StoredObject&, Findings&) const override { return {}; }

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

}  // namespace

std::unique_ptr<const ExportCheck> MakeJsonlCheck(const ExportLocation& artifact) {
  return std::make_unique<JsonlCheck>(artifact);
}

}  // namespace pipeline
