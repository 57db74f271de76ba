#include "verify/verify_tfdata.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/str.h"
#include "formats/tfdata.h"
#include "stages/write_tfdata.h"
#include "verify/shard_names.h"

namespace pipeline {

namespace {

const TfdataDirectory* FindDirectory(const TfdataInfo& info, std::string_view name) {
  for (const TfdataSplit& split : info.splits)
    for (const TfdataDirectory& directory : split.directories)
      if (directory.name == name) return &directory;
  return nullptr;
}

std::set<std::string_view> NamesOf(const std::vector<StoredObject>& objects) {
  std::set<std::string_view> names;
  for (const StoredObject& object : objects) names.insert(object.name);
  return names;
}

}  // namespace

void VerifyTfdataManifest(const Manifest& manifest, Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  const auto number_of = [](const ManifestShard& shard) {
    const std::size_t slash = shard.object.name.find('/');
    const std::size_t next = shard.object.name.find('/', slash + 1);
    return slash == std::string::npos || next == std::string::npos
               ? std::string()
               : shard.object.name.substr(slash + 1, next - slash - 1);
  };
  // The run is named by the directory's metadata; here it is taken as it comes.
  std::size_t at = 0;
  VerifyShardNames(
      manifest,
      [&](std::string_view split, std::uint32_t number, std::uint32_t count) {
        return TfdataSnapshotName(TfdataDirectoryOf(config, split, number, count),
                                  number_of(manifest.shards[at++]));
      },
      findings);
  const std::set<std::string_view> before = NamesOf(manifest.sidecars), after = NamesOf(manifest.followers);
  for (const ManifestShard& shard : manifest.shards) {
    const std::string_view directory = TfdataDirectoryOf(shard.object.name);
    if (!before.contains(StrCat(directory, "/", kTfdataMetadataFile)))
      findings.Add(StrCat("directory ", directory, ": names no ", kTfdataMetadataFile));
    if (!after.contains(StrCat(directory, "/", kTfdataSpecFile)))
      findings.Add(StrCat("directory ", directory, ": names no ", kTfdataSpecFile));
  }
  for (const std::string_view needed : {kTfdataInfoFile, kTfdataModelFile})
    if (!before.contains(needed)) findings.Add(StrCat("names no ", needed));
}

void VerifyTfdataInfo(const TfdataInfo& info, const Manifest& manifest, Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  if (info.eos != config["eos"].AsString("document"))
    findings.Add(
        StrCat("eos is ", info.eos, " where the manifest says ", config["eos"].AsString("document")));
  const auto model = std::find_if(manifest.sidecars.begin(), manifest.sidecars.end(),
                                  [](const StoredObject& object) { return object.name == kTfdataModelFile; });
  if (model != manifest.sidecars.end() && model->digest != info.tokenizer.model_digest)
    findings.Add(StrCat("the ids were made by a tokenizer with the digest ",
                        info.tokenizer.model_digest.ToHex(), ", and that of ", model->name, " is ",
                        model->digest.ToHex()));
  std::size_t named = 0, known = 0;
  for (const TfdataSplit& split : info.splits) named += split.directories.size();
  for (const ManifestShard& shard : manifest.shards) {
    const std::string_view name = TfdataDirectoryOf(shard.object.name);
    const TfdataDirectory* const directory = FindDirectory(info, name);
    if (directory == nullptr) {
      findings.Add(StrCat("directory ", name, ": missing"));
      continue;
    }
    ++known;
    if (directory->documents != shard.records)
      findings.Add(StrCat("directory ", name, ": has ", directory->documents,
                          " documents where the manifest says ", shard.records));
    if (shard.object.name != TfdataSnapshotName(name, directory->run_id))
      findings.Add(StrCat("directory ", name, ": its run is not ", directory->run_id));
    if (shard.object.bytes != directory->ids * kTfdataElementBytes)
      findings.Add(StrCat("directory ", name, ": has ", directory->ids, " ids, and its snapshot ",
                          shard.object.bytes, " bytes, not ", kTfdataElementBytes, " for each"));
  }
  if (named > known)
    findings.Add(
        StrCat("names ", named, " directories, ", named - known, " of which are not in the manifest"));
  for (const TfdataSplit& split : info.splits)
    if (split.name != "train" && split.ids() < kTfdataWindow)
      findings.Add(StrCat("split ", split.name, ": has ", split.ids(),
                          " ids, and the trainer cuts windows of ", kTfdataWindow));
}

bool IsTfdataFile(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last.size() < name.size() && (last == kTfdataSpecFile || last == kTfdataMetadataFile);
}

void VerifyTfdataFile(std::string_view name, std::string_view bytes, const TfdataInfo& info,
                      Findings& findings) {
  if (name.ends_with(kTfdataSpecFile)) {
    if (bytes != TfdataSpec()) findings.Add("does not say that elements are scalars of int32");
    return;
  }
  const Result<TfdataMetadata> metadata = ParseTfdataMetadata(bytes);
  if (!metadata.ok()) return findings.Add(metadata.status().message());
  const TfdataDirectory* const directory = FindDirectory(info, name.substr(0, name.find('/')));
  if (directory == nullptr) return findings.Add(StrCat(kTfdataInfoFile, " does not name its directory"));
  if (metadata->run_id != directory->run_id)
    findings.Add(
        StrCat("names the run ", metadata->run_id, " where ", kTfdataInfoFile, " names ", directory->run_id));
  if (metadata->elements != directory->ids)
    findings.Add(
        StrCat("counts ", metadata->elements, " ids where ", kTfdataInfoFile, " counts ", directory->ids));
}

Status VerifyTfdataShard(const ByteFile& file, const ManifestShard& shard, const TfdataInfo& info,
                         const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  ManifestShard elements = shard;  // of which there is one for each id, not for each document
  const TfdataDirectory* const directory = FindDirectory(info, TfdataDirectoryOf(shard.object.name));
  elements.records = directory == nullptr ? shard.object.bytes / kTfdataElementBytes : directory->ids;
  ReadCounts read;
  RETURN_IF_ERROR(VerifyRecords(
      file, elements,
      [&info](const ShardRecord& record) -> std::string {
        const Result<std::uint32_t> id = ParseTfdataElement(record.bytes);
        if (!id.ok()) return std::string(id.status().message());
        if (*id < info.tokenizer.vocab_size) return {};
        return StrCat("id ", *id, " where the tokenizer has ", info.tokenizer.vocab_size, " pieces");
      },
      stop, findings, read));
  counts.bytes += read.bytes;
  counts.records[shard.split] += shard.records;
  return {};
}

}  // namespace pipeline
