#include "verify/verify_tfds.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/str.h"
#include "formats/tfds.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

/// The splits as dataset_info.json must have them.
std::vector<TfdsSplit> SplitsOf(const Manifest& manifest) {
  std::vector<TfdsSplit> splits;
  for (const ManifestShard& shard : manifest.shards) {
    if (splits.empty() || splits.back().name != shard.split) splits.push_back({shard.split, {}, 0});
    splits.back().shard_lengths.push_back(shard.records);
    splits.back().bytes +=
        shard.object.bytes - std::min(shard.object.bytes, kTfRecordOverhead * shard.records);
  }
  return splits;
}

void CompareSplit(const TfdsSplit& found, const TfdsSplit& expected, Findings& findings) {
  const auto add = [&](std::string_view what) { findings.Add(StrCat("split ", found.name, ": ", what)); };
  if (found.bytes != expected.bytes)
    add(StrCat("numBytes is ", found.bytes, " where the shards have ", expected.bytes));
  const std::size_t shards = expected.shard_lengths.size();
  if (found.shard_lengths.size() != shards)
    return add(StrCat("has ", found.shard_lengths.size(), " shards where the manifest has ", shards));
  for (std::size_t shard = 0; shard < shards; ++shard)
    if (found.shard_lengths[shard] != expected.shard_lengths[shard])
      add(StrCat("shardLengths[", shard, "] is ", found.shard_lengths[shard], " where the manifest says ",
                 expected.shard_lengths[shard]));
}

/// Whether some object has this name.
bool Names(const std::vector<StoredObject>& objects, std::string_view name) {
  return std::any_of(objects.begin(), objects.end(),
                     [&](const StoredObject& object) { return object.name == name; });
}

void VerifySums(const Manifest& manifest, Findings& findings) {
  const bool equal = manifest.lineage.back().config["equal"].AsBool();
  for (const TfdsSplit& split : SplitsOf(manifest)) {
    std::uint64_t records = 0;
    for (const std::uint64_t length : split.shard_lengths) records += length;
    const auto total = manifest.splits.find(split.name);
    const std::uint64_t promised = total == manifest.splits.end() ? 0 : total->second.records;
    // `equal` leaves out the last rows of a split, fewer than it has shards.
    const std::uint64_t may_lack = equal ? split.shard_lengths.size() - 1 : 0;
    if (records > promised || promised - records > may_lack)
      findings.Add(StrCat("split ", split.name, ": its shards have ", records, " records of ", promised));
  }
}

}  // namespace

void VerifyTfdsManifest(const Manifest& manifest, Findings& findings) {
  const Json& name = manifest.lineage.back().config["name"];
  const ManifestShard* before = nullptr;
  for (const ManifestShard& shard : manifest.shards) {
    const bool follows = before != nullptr && before->split == shard.split;
    if (shard.number != (follows ? before->number + 1 : 0) || (follows && shard.count != before->count) ||
        (!follows && before != nullptr && before->number + 1 != before->count))
      findings.Add(StrCat("shard ", shard.object.name, ": number ", shard.number, " of ", shard.count,
                          " does not follow the one before"));
    if (const std::string expected = TfdsShardName(name.AsString(), shard.split, shard.number, shard.count);
        shard.object.name != expected)
      findings.Add(StrCat("shard ", shard.object.name, ": TensorFlow Datasets looks for ", expected));
    before = &shard;
  }
  if (before != nullptr && before->number + 1 != before->count)
    findings.Add(StrCat("split ", before->split, ": has ", before->number + 1, " shards of ", before->count));
  if (!Names(manifest.sidecars, kTfdsInfoFile)) findings.Add(StrCat("names no ", kTfdsInfoFile));
  if (!TfdsLabels(manifest).empty() && !Names(manifest.sidecars, kTfdsLabelsFile))
    findings.Add(StrCat("names no ", kTfdsLabelsFile));
  if (!Names(manifest.followers, kTfdsFeaturesFile)) findings.Add(StrCat("names no ", kTfdsFeaturesFile));
  VerifySums(manifest, findings);
}

void VerifyTfdsInfo(std::string_view text, const Manifest& manifest, Findings& findings) {
  const Result<TfdsInfo> info = ParseTfdsInfo(text);
  if (!info.ok()) return findings.Add(info.status().message());
  const Json& config = manifest.lineage.back().config;
  if (info->name != config["name"].AsString())
    findings.Add(StrCat("name is ", info->name, " where the manifest says ", config["name"].AsString()));
  if (info->version != config["version"].AsString(info->version))
    findings.Add(
        StrCat("version is ", info->version, " where the manifest says ", config["version"].AsString()));

  const std::vector<TfdsSplit> expected = SplitsOf(manifest);
  for (const TfdsSplit& split : info->splits) {
    const auto same = std::find_if(expected.begin(), expected.end(),
                                   [&](const TfdsSplit& other) { return other.name == split.name; });
    if (same == expected.end())
      findings.Add(StrCat("split ", split.name, ": has no shards in the manifest"));
    else
      CompareSplit(split, *same, findings);
  }
  for (const TfdsSplit& split : expected)
    if (std::none_of(info->splits.begin(), info->splits.end(),
                     [&](const TfdsSplit& other) { return other.name == split.name; }))
      findings.Add(StrCat("split ", split.name, ": missing"));
}

std::vector<std::string> TfdsLabels(const Manifest& manifest) {
  std::vector<std::string> labels;
  for (const Json& label : manifest.lineage.back().config["labels"].AsArray())
    labels.emplace_back(label.AsString());
  return labels;
}

void VerifyTfdsFeatures(std::string_view text, const Manifest& manifest, Findings& findings) {
  const Result<Json> found = Json::Parse(text);
  if (!found.ok()) return findings.Add(found.status().message());
  const std::size_t labels = TfdsLabels(manifest).size();
  const Result<Json> expected = Json::Parse(TfdsFeaturesJson(labels));
  if (expected.ok() && *found == *expected) return;
  findings.Add(labels == 0 ? StrCat("does not describe records with the one feature ", kTfdsTextFeature)
                           : StrCat("does not describe records with the features ", kTfdsTextFeature, " and ",
                                    kTfdsLabelFeature, ", of ", labels, " labels"));
}

void VerifyTfdsLabels(std::string_view text, const Manifest& manifest, Findings& findings) {
  if (text != TfdsLabelsText(TfdsLabels(manifest)))
    findings.Add("does not name the labels that the manifest has, in their order");
}

}  // namespace pipeline
