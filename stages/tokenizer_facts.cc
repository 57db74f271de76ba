#include "stages/tokenizer_facts.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "formats/sentencepiece_model.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kMaxVocabulary = std::uint32_t{1} << 31;

constexpr std::array<std::pair<std::string_view, std::int32_t TokenizerFacts::*>, 5> kSpecialIds = {
    {{"pad_id", &TokenizerFacts::pad_id},
     {"bos_id", &TokenizerFacts::bos_id},
     {"eos_id", &TokenizerFacts::eos_id},
     {"unk_id", &TokenizerFacts::unk_id},
     {"newline_id", &TokenizerFacts::newline_id}}};

}  // namespace

Json ToJson(const TokenizerFacts& facts) {
  Json json;
  json["layout"] = facts.layout;
  json["vocab_size"] = facts.vocab_size;
  for (const auto& [name, id] : kSpecialIds) json[name] = facts.*id;
  json["model"] = facts.model;
  json["model_digest"] = facts.model_digest.ToHex();
  return json;
}

Result<TokenizerFacts> TokenizerFactsFromJson(const Json& json) {
  Status status;
  JsonFields fields(json, "tokenizer.", status);
  TokenizerFacts facts;
  facts.layout = fields.Text("layout");
  facts.vocab_size = fields.Number32("vocab_size");
  facts.model = fields.Text("model");
  facts.model_digest = fields.Hex("model_digest");
  if (!status.ok()) return status;
  const auto wrong = [](std::string_view name, std::string_view why) {
    return Status(Code::kDataLoss, StrCat("tokenizer.", name, ": ", why));
  };
  if (facts.vocab_size == 0 || facts.vocab_size > kMaxVocabulary)
    return wrong("vocab_size", StrCat(facts.vocab_size, ", where ids are below 2^31"));
  for (const auto& [name, id] : kSpecialIds) {
    const Json& value = json[name];
    if (!value.is_int()) return wrong(name, json.Has(name) ? "not a whole number" : "missing");
    if (value.AsInt() < -1 || value.AsInt() >= std::int64_t{facts.vocab_size})
      return wrong(name, StrCat(value.AsInt(), ", where the vocabulary has ", facts.vocab_size, " pieces"));
    facts.*id = static_cast<std::int32_t>(value.AsInt());
  }
  return facts;
}

Result<TokenizerFacts> ReadTokenizerFacts(const ArtifactInput& artifact) {
  if (artifact.facts.is_object()) return TokenizerFactsFromJson(artifact.facts);
  if (artifact.file.empty())
    return Status(Code::kFailedPrecondition,
                  "the tokenizer says nothing about itself; name a stage of type train_tokenizer, or a file");
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadObject(*artifact.directory, artifact.file, kMaxTokenizerModelBytes));
  const Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return Status(model.status()).Annotate(artifact.file);
  TokenizerFacts facts;
  facts.layout = kLayoutOfFiles;
  facts.vocab_size = static_cast<std::uint32_t>(model->pieces().size());
  const SpecialIds ids = model->special_ids();
  facts.pad_id = static_cast<std::int32_t>(ids.pad);
  facts.bos_id = static_cast<std::int32_t>(ids.bos);
  facts.eos_id = static_cast<std::int32_t>(ids.eos);
  facts.unk_id = static_cast<std::int32_t>(ids.unk);
  for (std::uint32_t id = 0; id < facts.vocab_size; ++id)
    if (model->pieces()[id].text == "\n") facts.newline_id = static_cast<std::int32_t>(id);
  facts.model = artifact.file;
  facts.model_digest = DigestOf(bytes);
  return facts;
}

}  // namespace pipeline
