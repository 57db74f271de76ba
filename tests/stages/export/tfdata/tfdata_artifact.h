// What write_tfdata publishes, made by the stage itself.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stages/export/tfdata/tfdata_export.h"
#include "tests/stages/export/packed/packed_corpus.h"
#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {

inline Json TfdataConfig() {
  Json config;
  config["name"] = "wiki";
  config["names"]["validation"] = "ptb";
  config["eos"] = "document";
  config["shuffle"]["seed"] = 0;
  config["shards"] = 3;
  config["hosts"] = 1;
  return config;
}

inline Result<std::unique_ptr<SinkStage>> MakeWriteTfdata(Json config, const TokenizerFacts& facts,
                                                          std::string_view model = "a model") {
  auto directory = std::make_shared<MapStore>();
  (*directory)["spm.model"] = model;
  StageContext context;
  context.name = "ids";
  context.config = std::move(config);
  context.schema.splits = {"train", "validation"};
  context.artifacts["tokenizer"] = {directory, "", ToJson(facts)};
  return WriteTfdataType().sink()->make(context);
}

struct TfdataPublished {
  std::map<std::string, std::string> shards, sidecars, followers;  // by name
  std::vector<Shard> planned;
  std::vector<ShardOutput> outputs;
};

/// Both passes and the description.
inline TfdataPublished PublishTfdata(const Json& config, const TokenizerFacts& facts,
                                     const PackedCorpus& corpus, std::size_t batch_lines = 16,
                                     std::uint64_t memory = 1 << 20) {
  TfdataPublished published;
  const std::string model = facts.model_digest == DigestOf("m") ? "m" : "a model";
  const auto stage = MakeWriteTfdata(config, facts, model);
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  MapStore artifact, out;
  std::vector<PartitionOutput> outputs;
  for (const auto& [id, lines] : corpus) {
    auto sink = (*stage)->OpenPartition(artifact, id);
    const auto worker = (*stage)->encoder()->NewWorker();
    for (std::size_t first = 0; first < lines.size(); first += batch_lines) {
      Batch batch = PackedBatch(id, lines, first, batch_lines);
      StageCounts counts;
      EXPECT_TRUE((*worker)->Apply(batch, 1, counts).ok());
      EXPECT_TRUE((*sink)->Write(batch).ok());
    }
    outputs.push_back({id, *(*sink)->Commit({}), {}});
  }
  const auto plan = (*stage)->Plan(artifact, outputs);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto shards = WriteAll(**plan, out, memory);
  EXPECT_TRUE(shards.ok()) << shards.status().message();
  const auto sidecars = (*plan)->Describe(*shards);
  EXPECT_TRUE(sidecars.ok()) << sidecars.status().message();
  published.planned = (*plan)->shards();
  published.outputs = *shards;
  for (const Shard& shard : published.planned) published.shards[shard.object] = out[shard.object];
  for (const Sidecar& sidecar : sidecars->before_manifest) published.sidecars[sidecar.object] = sidecar.bytes;
  for (const Sidecar& sidecar : sidecars->after_manifest) published.followers[sidecar.object] = sidecar.bytes;
  return published;
}

}  // namespace pipeline
