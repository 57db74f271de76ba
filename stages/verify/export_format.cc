#include "stages/verify/export_format.h"

#include <algorithm>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

/// For artifacts of no export format, or of one that this program does not know.
class BytesCheck final : public ExportCheck {
 public:
  using ExportCheck::ExportCheck;

  void VerifyManifest(Findings& findings) const override {
    if (!manifest().shards.empty())
      findings.Add(StrCat("a stage of type ", manifest().lineage.back().type,
                          " made the artifact, and this program cannot check its records"));
  }
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    return VerifyBytes(file, shard.object, stop(), findings, counts);
  }
};

}  // namespace

const ExportFormat* FindExportFormat(const std::vector<ExportFormat>& exports, std::string_view type) {
  const auto found = std::find_if(exports.begin(), exports.end(),
                                  [type](const ExportFormat& format) { return format.stage.name == type; });
  return found == exports.end() ? nullptr : &*found;
}

std::unique_ptr<const ExportCheck> MakeExportCheck(const std::vector<ExportFormat>& exports,
                                                   const ExportLocation& artifact) {
  const ExportFormat* const format = FindExportFormat(exports, artifact.manifest.lineage.back().type);
  if (format == nullptr) return std::make_unique<BytesCheck>(artifact);
  return format->verify(artifact);
}

std::unique_ptr<const ExportReader> MakeExportReader(const std::vector<ExportFormat>& exports,
                                                     std::string_view type, const OpenBeside& beside) {
  const ExportFormat* const format = FindExportFormat(exports, type);
  if (format == nullptr) return std::make_unique<ExampleReader>();
  return format->read(beside);
}

std::unique_ptr<const ExportReader> MakeFileReader(const std::vector<ExportFormat>& exports, NamedFile file) {
  const bool has_examples = IsExampleFile(file.front, file.name);
  const Result<NextExample> next = has_examples ? OpenExamples(file.bytes) : NextExample();
  std::optional<TfExample> first;
  if (next.ok() && *next)
    if (Result<std::optional<TfExample>> record = (*next)(); record.ok()) first = std::move(record).value();
  if (first) file.first = &*first;
  for (const ExportFormat& format : exports)
    if (format.claims != nullptr && format.claims(file)) return format.read(file.beside);
  return has_examples ? std::make_unique<ExampleReader>() : nullptr;
}

}  // namespace pipeline
