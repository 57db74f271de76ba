// A published artifact of write_packed, made by its own stage.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "dag/manifest.h"
#include "dag/publisher.h"
#include "storage/local_store.h"
#include "tests/cli/small_artifact.h"
#include "tests/shards/shuffle_fixture.h"
#include "tests/stages/packed_corpus.h"

namespace pipeline {

/// Rows of five ids: train in two shards, validation in two. `more` are keys of the stage.
inline Manifest PublishPacked(const std::string& place, const Json& more = Json::Object{}) {
  Json config;
  config["seq_len"] = 4;
  config["shuffle"]["seed"] = 0;
  config["shards"] = 2;
  for (const auto& [key, value] : more.AsObject()) config[key] = value;
  const auto stage =
      MakeWritePacked(config, ToJson(PipeTokenizer("a model")), "a model", {"train", "validation"});
  MapStore artifact;
  const auto plan =
      (*stage)->Plan(artifact, WritePackedPieces(**stage, artifact, RandomPackedCorpus(1, 20), 9));
  std::filesystem::create_directories(place);
  LocalStore out(place);
  const auto outputs = RunAll(**plan, out, 1 << 20);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  const auto sidecars = (*plan)->Describe(*outputs);

  Manifest manifest;
  LineageStage last;
  last.stage = "packed";
  last.type = "write_packed";
  last.config = config;
  last.recipe = DigestOf("recipe");
  manifest.lineage = {last};
  manifest.schema.splits = {"train", "validation"};
  for (std::size_t at = 0; at < outputs->size(); ++at) {
    const Shard& shard = (*plan)->shards()[at];
    const ShardOutput& output = (*outputs)[at];
    manifest.shards.push_back({shard.split, shard.number, shard.count, output.records, output.object});
    manifest.sidecars.push_back(*output.index);
  }
  for (const Sidecar& sidecar : sidecars->before_manifest) {
    WriteFile(place + "/" + sidecar.object, sidecar.bytes);
    manifest.sidecars.push_back(Stored(sidecar.object, sidecar.bytes));
  }
  WriteFile(place + "/" + std::string(kManifestName), EncodeManifest(manifest));
  return manifest;
}

}  // namespace pipeline
