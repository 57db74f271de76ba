// Artifacts that lie in a directory as the publisher leaves them, made by the stages themselves.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "dag/books/manifest.h"
#include "dag/pipeline_file/stage_type.h"
#include "tests/stages/batches.h"
#include "tests/stages/export/packed/packed_corpus.h"
#include "tests/stages/shards/shuffle_fixture.h"
#include "tests/stages/verify/small_artifact.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

/// Puts an object into a directory that may not be there.
inline void Put(const std::string& place, const std::string& object, std::string_view bytes) {
  const std::filesystem::path path = place + "/" + object;
  std::filesystem::create_directories(path.parent_path());
  WriteFile(path, bytes);
}

inline void PutManifest(const std::string& place, Manifest manifest) {
  SetRecipes(manifest.lineage);
  Put(place, std::string(kManifestName), EncodeManifest(manifest));
}

/// Every object that a manifest names, to look at or to change.
inline std::vector<StoredObject*> ObjectsOf(Manifest& manifest) {
  std::vector<StoredObject*> objects;
  for (ManifestShard& shard : manifest.shards) objects.push_back(&shard.object);
  for (StoredObject& object : manifest.sidecars) objects.push_back(&object);
  for (StoredObject& object : manifest.followers) objects.push_back(&object);
  return objects;
}

/// Replaces an object and lets the manifest name what is there now.
inline void Forge(const std::string& place, Manifest manifest, const std::string& object,
                  std::string_view bytes) {
  Put(place, object, bytes);
  for (StoredObject* const named : ObjectsOf(manifest))
    if (named->name == object) *named = Stored(object, bytes);
  PutManifest(place, manifest);
}

/// What the sink `type` publishes of `batches`, at `place`.
inline Manifest PublishAt(const std::string& place, const StageType& type, const StageContext& context,
                          const std::vector<Batch>& batches) {
  Manifest manifest;
  LineageStage last;
  last.stage = context.name;
  last.type = std::string(type.name);
  last.config = context.config;
  last.recipe = DigestOf("recipe");
  manifest.lineage = {last};
  manifest.schema = context.schema;
  const auto stage = type.sink()->make(context);
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  if (!stage.ok()) return manifest;
  MapStore artifact, out;
  std::vector<PartitionOutput> outputs;
  for (const Batch& given : batches) {
    Batch batch = given;
    if ((*stage)->encoder() != nullptr) ApplyTo(batch, *(*stage)->encoder());
    const auto sink = (*stage)->OpenPartition(artifact, batch.partition);
    const Status written = (*sink)->Write(batch);
    EXPECT_TRUE(written.ok()) << written.message();
    const auto committed = (*sink)->Commit({});
    EXPECT_TRUE(committed.ok()) << committed.status().message();
    PartitionOutput output{batch.partition, *committed, {}};
    for (const std::uint8_t split : batch.split) {
      ++output.splits[context.schema.splits[split]].records;
      ++manifest.splits[context.schema.splits[split]].records;
    }
    outputs.push_back(std::move(output));
  }
  const auto plan = (*stage)->Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto shards = WriteAll(**plan, out, 1 << 20);
  EXPECT_TRUE(shards.ok()) << shards.status().message();
  for (std::size_t at = 0; at < shards->size(); ++at) {
    const Shard& shard = (*plan)->shards()[at];
    const ShardOutput& output = (*shards)[at];
    manifest.shards.push_back({shard.split, shard.number, shard.count, output.records, output.object});
    if (output.index) manifest.sidecars.push_back(*output.index);
  }
  for (const auto& [name, bytes] : out.objects()) Put(place, name, bytes);
  const auto sidecars = (*plan)->Describe(*shards);
  EXPECT_TRUE(sidecars.ok()) << sidecars.status().message();
  for (const Sidecar& sidecar : sidecars->before_manifest) {
    Put(place, sidecar.object, sidecar.bytes);
    manifest.sidecars.push_back(Stored(sidecar.object, sidecar.bytes));
  }
  for (const Sidecar& sidecar : sidecars->after_manifest) {
    Put(place, sidecar.object, sidecar.bytes);
    manifest.followers.push_back(Stored(sidecar.object, sidecar.bytes));
  }
  SetRecipes(manifest.lineage);
  PutManifest(place, manifest);
  return manifest;
}

/// A corpus as one batch for each partition.
inline std::vector<Batch> BatchesOf(const PackedCorpus& corpus) {
  std::vector<Batch> batches;
  for (const auto& [id, lines] : corpus) batches.push_back(PackedBatch(id, lines, 0, lines.size()));
  return batches;
}

}  // namespace pipeline
