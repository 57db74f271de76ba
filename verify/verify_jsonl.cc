#include "verify/verify_jsonl.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "formats/jsonl.h"
#include "stages/write_jsonl.h"
#include "text/span_corruption.h"
#include "text/utf8.h"
#include "verify/shard_names.h"

namespace pipeline {

namespace {

std::string WrongWithRow(std::string_view line, const std::vector<std::string>& members, bool pair) {
  if (!IsCleanUtf8(line)) return "is not UTF-8, or holds NUL";
  const Result<std::vector<std::string>> texts = ParseJsonlRow(line, members);
  if (!texts.ok()) return std::string(texts.status().message());
  if (pair && !JoinSpans((*texts)[0], (*texts)[1]))
    return "the sentinels of source and target do not belong together";
  return {};
}

}  // namespace

void VerifyJsonlManifest(const Manifest& manifest, Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  VerifyShardNames(
      manifest,
      [&config](std::string_view split, std::uint32_t number, std::uint32_t count) {
        return JsonlShardName(JsonlFileOf(config, split), number, count);
      },
      findings);
}

Status VerifyJsonlFile(const ByteFile& file, const ManifestShard& shard, const Manifest& manifest,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  const Json& config = manifest.lineage.back().config;
  const std::vector<std::string> members = JsonlMembers(config, manifest.schema);
  const bool pair = CorruptsSpans(config);
  return VerifyLines(
      file, shard, [&](std::string_view line) { return WrongWithRow(line, members, pair); }, stop, findings,
      counts);
}

}  // namespace pipeline
