#include "stages/tokenizer/tokenizer_facts.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kMaxVocabulary = std::uint32_t{1} << 31;

constexpr std::array<std::pair<std::string_view, std::int32_t TokenizerFacts::*>, 5> kSpecialIds = {
    {{"pad_id", &TokenizerFacts::pad_id},
     {"bos_id", &TokenizerFacts::bos_id},
     {"eos_id", &TokenizerFacts::eos_id},
     {"unk_id", &TokenizerFacts::unk_id},
     {"newline_id", &TokenizerFacts::newline_id}}};

// Each is written only if the tokenizer has it.
constexpr std::array<std::pair<std::string_view, std::int32_t TokenizerFacts::*>, 3> kBertIds = {
    {{"cls_id", &TokenizerFacts::cls_id},
     {"sep_id", &TokenizerFacts::sep_id},
     {"mask_id", &TokenizerFacts::mask_id}}};
constexpr std::string_view kMorphemes = "morphemes";

Result<std::string> ReadModelFile(Store& directory, std::string_view name) {
  return ReadObject(directory, name, IsVocabularyFile(name) ? kMaxWordPieceBytes : kMaxTokenizerModelBytes);
}

}  // namespace

NamedInput TokenizerOfIds() {
  return {.name = kTokenizerInput,
          .or_file = true,
          .help = "The tokenizer that made the ids; left out, the one of the stage that encoded.",
          .inherited = true};
}

Json ToJson(const TokenizerFacts& facts) {
  Json json;
  json["layout"] = facts.layout;
  json["vocab_size"] = facts.vocab_size;
  for (const auto& [name, id] : kSpecialIds) json[name] = facts.*id;
  for (const auto& [name, id] : kBertIds)
    if (facts.*id >= 0) json[name] = facts.*id;
  if (facts.morphemes) json[kMorphemes] = true;
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
  const auto read = [&](std::string_view name, std::int32_t& id) -> Status {
    const Json& value = json[name];
    if (!value.is_int()) return wrong(name, json.Has(name) ? "not a whole number" : "missing");
    if (value.AsInt() < -1 || value.AsInt() >= std::int64_t{facts.vocab_size})
      return wrong(name, StrCat(value.AsInt(), ", where the vocabulary has ", facts.vocab_size, " pieces"));
    id = static_cast<std::int32_t>(value.AsInt());
    return {};
  };
  for (const auto& [name, id] : kSpecialIds) RETURN_IF_ERROR(read(name, facts.*id));
  for (const auto& [name, id] : kBertIds)
    if (json.Has(name)) RETURN_IF_ERROR(read(name, facts.*id));
  facts.morphemes = json[kMorphemes].AsBool();
  return facts;
}

Result<TokenizerFacts> ReadTokenizerFacts(const ArtifactInput& artifact) {
  if (artifact.facts.is_object()) return TokenizerFactsFromJson(artifact.facts);
  if (artifact.file.empty())
    return Status(Code::kFailedPrecondition,
                  "the tokenizer says nothing about itself; name a stage of type train_tokenizer, or a file");
  ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(*artifact.directory, artifact.file));
  if (IsVocabularyFile(artifact.file)) {
    const Result<WordPieceVocabulary> vocabulary = WordPieceVocabulary::Parse(bytes);
    if (!vocabulary.ok()) return Status(vocabulary.status()).Annotate(artifact.file);
    return FactsOfVocabulary(*vocabulary, artifact.file, bytes);
  }
  const Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return Status(model.status()).Annotate(artifact.file);
  return FactsOfModel(kLayoutOfFiles, *model, artifact.file, bytes);
}

std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> OfPromisedTokenizer(
    Status (*check)(const Json& config, const Schema& schema, const TokenizerFacts& facts)) {
  return [check](const Json& config, const Schema& schema, const Promise& promise) -> Status {
    if (promise.named_input != kTokenizerInput) return {};
    const bool of_plugin = promise.maker.find('.') != std::string_view::npos;
    if (of_plugin && !promise.facts.Has("layout")) return {};
    if (!promise.facts.Has("layout"))
      return Status(
          Code::kInvalidArgument,
          StrCat("a stage of type ", promise.maker,
                 " makes no tokenizer; name a stage of type train_tokenizer, or the file of a model"));
    ASSIGN_OR_RETURN(const TokenizerFacts facts, TokenizerFactsFromJson(promise.facts));
    return check(config, schema, facts);
  };
}

TokenizerFacts FactsOfVocabulary(const WordPieceVocabulary& vocabulary, std::string_view file,
                                 std::string_view bytes) {
  const auto id = [&](std::string_view piece) {
    const std::optional<std::uint32_t> found = vocabulary.Find(piece);
    return found ? static_cast<std::int32_t>(*found) : -1;
  };
  TokenizerFacts facts;
  facts.layout = kBertLayout;
  facts.vocab_size = static_cast<std::uint32_t>(vocabulary.size());
  facts.pad_id = id("[PAD]");
  facts.unk_id = static_cast<std::int32_t>(vocabulary.unk());
  facts.cls_id = id("[CLS]");
  facts.sep_id = id("[SEP]");
  facts.mask_id = id("[MASK]");
  facts.model = file;
  facts.model_digest = DigestOf(bytes);
  return facts;
}

TokenizerFacts FactsOfModel(std::string_view layout, const SentencePieceModel& model, std::string_view file,
                            std::string_view bytes) {
  const SpecialIds ids = model.special_ids();
  TokenizerFacts facts;
  facts.layout = layout;
  facts.vocab_size = static_cast<std::uint32_t>(model.pieces().size());
  facts.pad_id = static_cast<std::int32_t>(ids.pad);
  facts.bos_id = static_cast<std::int32_t>(ids.bos);
  facts.eos_id = static_cast<std::int32_t>(ids.eos);
  facts.unk_id = static_cast<std::int32_t>(ids.unk);
  for (std::uint32_t id = 0; id < facts.vocab_size; ++id)
    if (model.pieces()[id].text == "\n") facts.newline_id = static_cast<std::int32_t>(id);
  facts.model = file;
  facts.model_digest = DigestOf(bytes);
  return facts;
}

bool IsVocabularyFile(std::string_view name) { return name.ends_with(".txt"); }

TokenizerKind KindOf(const TokenizerFacts& facts) {
  return IsVocabularyFile(facts.model) ? TokenizerKind::kVocabulary : TokenizerKind::kSentencePiece;
}

Result<std::string> ReadTokenizerModel(const ArtifactInput& artifact, const TokenizerFacts& facts) {
  Result<std::string> model = ReadModelFile(*artifact.directory, facts.model);
  if (!model.ok()) return std::move(model).status().Annotate("the tokenizer's model");
  if (DigestOf(*model) == facts.model_digest) return model;
  return Status(Code::kDataLoss, StrCat("the tokenizer's model ", facts.model,
                                        " is not the one that its facts name: it was changed or damaged"));
}

Result<VocabularyFile> ReadVocabulary(const ArtifactInput& artifact, const TokenizerFacts& facts) {
  VocabularyFile file;
  ASSIGN_OR_RETURN(file.bytes, ReadTokenizerModel(artifact, facts));
  Result<WordPieceVocabulary> pieces = WordPieceVocabulary::Parse(file.bytes);
  if (!pieces.ok()) return std::move(pieces).status().Annotate(facts.model);
  file.pieces = std::move(pieces).value();
  const TokenizerFacts has = FactsOfVocabulary(file.pieces, facts.model, file.bytes);
  const auto wrong = [&](std::string_view what, std::int64_t said, std::int64_t is) {
    return Status(Code::kDataLoss, StrCat(facts.model, ": its tokenizer says ", what, " ", said,
                                          ", and it is ", is, ": they are not of one training; train again"));
  };
  if (facts.vocab_size != has.vocab_size) return wrong("vocab_size", facts.vocab_size, has.vocab_size);
  for (const auto& [name, id] : kSpecialIds)
    if (facts.*id != has.*id) return wrong(name, facts.*id, has.*id);
  for (const auto& [name, id] : kBertIds)
    if (facts.*id != has.*id) return wrong(name, facts.*id, has.*id);
  return file;
}

}  // namespace pipeline
