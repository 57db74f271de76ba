// A published artifact of write_packed, made by its own stage.
#pragma once

#include <memory>
#include <string>

#include "tests/stages/verify/published_artifact.h"

namespace pipeline {

/// Rows of five ids: train in two shards, validation in two. `more` are keys of the stage.
inline Manifest PublishPacked(const std::string& place, const Json& more = Json::Object{},
                              const ChooseWeights& weights = {}) {
  auto tokenizer = std::make_shared<MapStore>();
  (*tokenizer)["spm.model"] = "a model";
  StageContext context;
  context.name = "packed";
  context.config["seq_len"] = 4;
  context.config["shuffle"]["seed"] = 0;
  context.config["shards"] = 2;
  for (const auto& [key, value] : more.AsObject()) context.config[key] = value;
  context.schema.splits = {"train", "validation"};
  context.artifacts["tokenizer"] = {tokenizer, "", ToJson(PipeTokenizer("a model"))};
  return PublishAt(place, WritePackedType(weights), context, BatchesOf(RandomPackedCorpus(1, 20)));
}

}  // namespace pipeline
