#include "stages/verify/verify_head.h"

#include <map>
#include <optional>
#include <string>

#include "base/str.h"

namespace pipeline {

namespace {

void VerifyRecipes(const Lineage& lineage, const std::string& where, Findings& findings) {
  std::optional<Digest> input;
  for (const LineageStage& stage : lineage) {
    const std::string name = StrCat(where, "stage ", stage.stage);
    if (RecipeOf(stage, input) != stage.recipe)
      findings.Add(StrCat("lineage: ", name, ": its recipe is not that of the entries beside it"));
    for (const LineageInput& named_input : stage.named_inputs) {
      if (named_input.lineage.empty()) continue;
      if (named_input.lineage.back().recipe != named_input.digest)
        findings.Add(
            StrCat("lineage: ", name, ": its ", named_input.name, " has another recipe than its lineage"));
      VerifyRecipes(named_input.lineage, StrCat(name, ": ", named_input.name, ": "), findings);
    }
    input = stage.recipe;
  }
}

void VerifyPartitionSums(const Manifest& manifest, Findings& findings) {
  std::map<std::string, ArtifactTotals::Split, std::less<>> sums;
  for (const PartitionOutput& output : manifest.partitions)
    for (const auto& [name, split] : output.splits) {
      ArtifactTotals::Split& sum = sums[name];
      sum.records += split.records;
      sum.documents += split.documents;
      sum.bytes += split.bytes;
    }
  const auto differ = [&findings](const std::string& name, std::string_view what, std::uint64_t total,
                                  std::uint64_t sum) {
    if (total != sum)
      findings.Add(StrCat("split ", name, ": has ", total, " ", what, ", and its partitions ", sum));
  };
  for (const auto& [name, total] : manifest.splits) {
    const ArtifactTotals::Split& sum = sums[name];
    differ(name, "records", total.records, sum.records);
    differ(name, "documents", total.documents, sum.documents);
    differ(name, "bytes", total.bytes, sum.bytes);
  }
  for (const auto& [name, sum] : sums)
    if (!manifest.splits.contains(name)) findings.Add(StrCat("split ", name, ": has no totals"));
}

}  // namespace

void VerifyHead(const Manifest& manifest, Findings& findings) {
  VerifyRecipes(manifest.lineage, {}, findings);
  if (!manifest.partitions.empty()) VerifyPartitionSums(manifest, findings);
}

}  // namespace pipeline
