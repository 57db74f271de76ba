#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/pipeline_file/reading_rules.h"
#include "dag/records/transform.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "storage/store.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/tokenizer_corpus.h"
#include "text/wordpiece.h"

namespace pipeline {

namespace {

constexpr std::string_view kWordsKey = "words";
constexpr std::uint64_t kModelMemory = 32 << 20;  // 32,000 pieces with nmt_nfkc take 15 MiB

class EncodeWorker final : public Worker {
 public:
  EncodeWorker(const SentencePieceEncoder& encoder, const std::vector<PieceType>& types)
      : encoder_(encoder), types_(types) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts& counts) override {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const Status status =
          encoder_.Encode(batch.text[row], scratch_, batch.ids.open_row(), batch.id_ends.open_row());
      batch.ids.CloseRow(), batch.id_ends.CloseRow();
      if (status.ok()) continue;
      batch.failed_index = batch.heads[row].index;
      return status;
    }
    std::uint64_t unknown = 0, bytes = 0;
    for (const std::uint32_t id : batch.ids.joined()) {
      if (types_[id] == PieceType::kUnknown) ++unknown;
      if (types_[id] == PieceType::kByte) ++bytes;
    }
    counts.Add("ids", batch.ids.joined().size());
    if (unknown > 0) counts.Add("unk_ids", unknown);
    if (bytes > 0) counts.Add("byte_ids", bytes);
    if (!encoder_.keeps_marks() && batch.text.joined().find(kSpaceMark) != std::string_view::npos)
      CountSpaceMarks(batch, counts);
    return {};
  }

 private:
  static void CountSpaceMarks(const Batch& batch, StageCounts& counts) {
    for (std::size_t row = 0; row < batch.size(); ++row)
      if (batch.text[row].find(kSpaceMark) != std::string_view::npos) counts.Add("space_mark_in_text");
  }

  const SentencePieceEncoder& encoder_;
  const std::vector<PieceType>& types_;
  SentencePieceEncoder::Scratch scratch_;
};

class Encode final : public Transform {
 public:
  Encode(std::unique_ptr<const SentencePieceEncoder> encoder, std::vector<PieceType> types)
      : encoder_(std::move(encoder)), types_(std::move(types)) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<EncodeWorker>(*encoder_, types_);
  }
  std::uint64_t memory() const override {
    return encoder_->own_memory() > kModelMemory / 2 ? encoder_->own_memory() - kModelMemory / 2 : 0;
  }

 private:
  std::unique_ptr<const SentencePieceEncoder> encoder_;
  std::vector<PieceType> types_;  // by id
};

/// Does the same with a vocab.txt.
class WordPieceWorker final : public Worker {
 public:
  WordPieceWorker(const WordPieceEncoder& encoder, std::uint32_t unknown)
      : encoder_(encoder), unknown_(unknown) {}

  Status Apply(Batch& batch, std::uint32_t, StageCounts& counts) override {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      encoder_.Encode(batch.text[row],
                      batch.cuts.empty() ? std::span<const std::uint32_t>() : batch.cuts[row], words_,
                      batch.ids.open_row(), batch.id_ends.open_row());
      batch.ids.CloseRow(), batch.id_ends.CloseRow();
    }
    const auto ids = batch.ids.joined();
    counts.Add("ids", ids.size());
    const auto unknown = static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), unknown_));
    if (unknown > 0) counts.Add("unk_ids", unknown);
    return {};
  }

 private:
  const WordPieceEncoder& encoder_;
  const std::uint32_t unknown_;
  BertWords words_;
};

class EncodeWordPieces final : public Transform {
 public:
  EncodeWordPieces(const WordPieceVocabulary& vocabulary, BertWordKind kind)
      : encoder_(vocabulary, kind), unknown_(vocabulary.unk()) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<WordPieceWorker>(encoder_, unknown_);
  }
  std::uint64_t memory() const override {
    return encoder_.memory() > kModelMemory ? encoder_.memory() - kModelMemory : 0;
  }

 private:
  const WordPieceEncoder encoder_;
  const std::uint32_t unknown_;
};

bool OfMorphemes(const Json& config, const TokenizerFacts& facts) {
  const std::string_view words = config[kWordsKey].AsString("auto");
  return words == "auto" ? facts.morphemes : words == "morphemes";
}

Status CheckTokenizer(const Json& config, const Schema& schema, const TokenizerFacts& facts) {
  if (facts.layout != kBertLayout || !OfMorphemes(config, facts) || schema.columns.contains("cuts"))
    return {};
  return Status(Code::kFailedPrecondition,
                "the words of its tokenizer are morphemes, and the records have no column 'cuts'; put "
                "segment_words in front of it, or write `words: text`");
}

Result<std::unique_ptr<Transform>> MakeWordPieces(const StageContext& context, const ArtifactInput& input) {
  ASSIGN_OR_RETURN(const TokenizerFacts facts, ReadTokenizerFacts(input));
  ASSIGN_OR_RETURN(const VocabularyFile vocabulary, ReadVocabulary(input, facts));
  RETURN_IF_ERROR(CheckTokenizer(context.config, context.schema, facts));
  return std::make_unique<EncodeWordPieces>(
      vocabulary.pieces, OfMorphemes(context.config, facts) ? BertWordKind::kMorphemes : BertWordKind::kText);
}

Result<std::unique_ptr<Transform>> MakeEncode(const StageContext& context) {
  const auto found = context.artifacts.find(kTokenizerInput);
  if (found == context.artifacts.end() || !found->second.directory)
    return Status(Code::kInternal, StrCat(context.name, ": no tokenizer was handed over [this is a bug]"));
  const ArtifactInput& input = found->second;
  const std::string file(!input.file.empty() ? input.file
                                             : input.facts["model"].AsString(kTokenizerModelFile));
  if (IsVocabularyFile(file)) {
    Result<std::unique_ptr<Transform>> made = MakeWordPieces(context, input);
    if (!made.ok()) return std::move(made).status().Annotate(context.name);
    return made;
  }
  if (context.config[kWordsKey].AsString("auto") != "auto")
    return Status(
        Code::kFailedPrecondition,
        StrCat(context.name, ": words: a SentencePiece model finds its words itself; leave it out"));
  ASSIGN_OR_RETURN(const std::string bytes, ReadObject(*input.directory, file, kMaxTokenizerModelBytes));
  Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return std::move(model).status().Annotate(StrCat(context.name, ": ", file));
  const auto engine = context.config[kEngineKey].AsString() == kLibraryEngine
                          ? SentencePieceEncoder::Engine::kLibrary
                          : SentencePieceEncoder::Engine::kOwn;
  const auto marks = ReadingRulesOf(context.config) >= 2 ? SpaceMarks::kBytes : SpaceMarks::kAreSpaces;
  auto encoder = SentencePieceEncoder::Load(bytes, engine, marks);
  if (!encoder.ok()) return std::move(encoder).status().Annotate(StrCat(context.name, ": ", file));
  std::vector<PieceType> types;
  for (const SentencePiece& piece : model->pieces()) types.push_back(piece.type);
  return std::make_unique<Encode>(std::move(encoder).value(), std::move(types));
}

std::function<double(const StageCounts&)> ShareOf(std::string_view reason) {
  return [reason](const StageCounts& counts) {
    const auto count = [&counts](std::string_view name) {
      const auto found = counts.reasons.find(name);
      return found == counts.reasons.end() ? 0 : static_cast<double>(found->second);
    };
    const double ids = count("ids");
    return ids > 0 ? count(reason) / ids : 0;
  };
}

}  // namespace

StageType EncodeType() {
  StageType type;
  type.name = "encode";
  type.version = 2;  // 2: text is never a special piece of a vocab.txt
  type.help = "Turns each line into the ids of a tokenizer, with where in the line each ends.";
  type.reads = {"text"};
  type.named_inputs = {{.name = kTokenizerInput,
                        .or_file = true,
                        .help = "The stage that trains the tokenizer, or a `.model` or `vocab.txt` file."}};
  type.keys = {
      Choice(kWordsKey, "auto", {"auto", "text", "morphemes"},
             "The words that a vocab.txt cuts into pieces: those of BERT, or morphemes; `auto` takes those "
             "of its "
             "training, for a file of yours `text`."),
      Choice(kEngineKey, "own", {"own", kLibraryEngine},
             "The program that finds the ids of a `.model`; both give the same ids, and `sentencepiece` "
             "needs more "
             "time. `own` gives it the models that are not of the type unigram.",
             Effect::kNone),
      RulesKey("The number of the rules of encoding; without it a plan keeps those of earlier work, and "
               "takes the newest "
               "elsewhere.")};
  type.newest_rules = "give U+2581 as its bytes if the tokenizer has pieces for bytes";
  type.libraries = {{"sentencepiece", SentencePieceVersion()}};
  type.reasons = {{"space_mark_in_text", "It holds U+2581, which decodes as a space."},
                  Tally("ids", "Ids."),
                  Tally("unk_ids", "Ids that stand for text without a piece; see `unk_rate`."),
                  Tally("byte_ids", "Ids that stand for single bytes; see `byte_rate`.")};
  type.metrics = {{"unk_rate", "Share of the ids that stand for text without a piece.", ShareOf("unk_ids")},
                  {"byte_rate", "Share of the ids that stand for single bytes.", ShareOf("byte_ids")}};
  type.check = [](const Json&, Schema& schema) -> Status {
    if (schema.columns.count("ids") != 0)
      return Status(Code::kInvalidArgument,
                    "the records that come in have ids already; remove one of the two stages");
    schema.columns["ids"] = ColumnType::kU32List;
    schema.columns["id_ends"] = ColumnType::kU32List;
    return {};
  };
  type.check_promised = OfPromisedTokenizer(CheckTokenizer);
  type.kind = TransformKind{.make = MakeEncode, .model_memory = [](const Json&) { return kModelMemory; }};
  return type;
}

}  // namespace pipeline
