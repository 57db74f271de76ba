// A published artifact of write_packed, made by its own stage.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "stages/export/packed/packed_info.h"
#include "tests/stages/export/packed/label_model.h"
#include "tests/stages/export/packed/word_model.h"
#include "tests/stages/verify/published_artifact.h"

namespace pipeline {

/// Rows of five ids, or documents: train in two shards, validation in two. `more` are keys of the stage.
inline Manifest PublishPacked(const std::string& place, const Json& more = Json::Object{},
                              const ChooseWeights& weights = {}, const std::string& model = "a model",
                              const PackedCorpus& corpus = RandomPackedCorpus(1, 20),
                              const std::optional<TokenizerFacts>& made_with = std::nullopt) {
  const TokenizerFacts facts = made_with.value_or(PipeTokenizer(model));
  auto tokenizer = std::make_shared<MapStore>();
  (*tokenizer)[facts.model] = model;
  StageContext context;
  context.name = "packed";
  context.config["seq_len"] = 4;
  context.config["shuffle"]["seed"] = 0;
  context.config["shards"] = 2;
  if (more["packing"].AsString() == kDocumentsPacking) context.config.Remove("seq_len");
  for (const auto& [key, value] : more.AsObject()) context.config[key] = value;
  context.schema.splits = {"train", "validation"};
  context.artifacts["tokenizer"] = {tokenizer, "", ToJson(facts)};
  return PublishAt(place, WritePackedType(weights), context, BatchesOf(corpus));
}

/// Rows of 13 ids, whose documents have the labels `no` and `yes` of LabelModel.
inline Manifest PublishLabelled(const std::string& place, Json more = Json::Object{}) {
  const std::vector<std::string> names = {"no", "yes"};
  more["labels"] = Json::Array(names.begin(), names.end());
  more["packing"] = "best_fit";
  more["seq_len"] = 12;
  return PublishPacked(place, more, {}, LabelModel(), Labelled(RandomPackedCorpus(1, 20), names));
}

/// Rows of 41 ids, whose documents have numbers for labels; with `words` those of WordModel.
inline Manifest PublishNumbered(const std::string& place, bool words = false) {
  Json more;
  more["labels"] = Json::Array{Json("numbers")};
  more["packing"] = "best_fit";
  more["seq_len"] = 40;
  const std::string model = words ? WordModel() : NumberModel();
  return PublishPacked(place, more, {}, model, Labelled(RandomPackedCorpus(1, 20), {"4.5", "-3e1"}),
                       words ? WordTokenizer(model) : PipeTokenizer(model));
}

}  // namespace pipeline
