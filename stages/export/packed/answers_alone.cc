#include "stages/export/packed/answers_alone.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "stages/tokenizer/tokenizer_settings.h"

namespace pipeline {

namespace {

class AnswersAlone final : public TargetWeights {
 public:
  explicit AnswersAlone(std::uint32_t mark) : mark_(mark) {}

  void Weigh(std::span<const std::uint32_t> ids, std::vector<bool>& weights) override {
    std::size_t context = 0;
    if (!in_answer_) {
      const auto mark = std::find(ids.begin(), ids.end(), mark_);
      in_answer_ = mark != ids.end();
      context = static_cast<std::size_t>(mark - ids.begin()) + (in_answer_ ? 1 : 0);
    }
    weights.insert(weights.end(), context, false);
    weights.insert(weights.end(), ids.size() - context, true);
  }

  bool WeighEnd(bool of_document) override {
    return of_document ? std::exchange(in_answer_, false) : in_answer_;
  }

 private:
  const std::uint32_t mark_;
  bool in_answer_ = false;  // the open document had the mark
};

std::string NoSymbols() {
  return StrCat(kAnswersAfterKey,
                ": a vocab.txt has no user-defined symbols, which text gives as one id; write labels, or "
                "take a SentencePiece model that has some");
}

Result<std::uint32_t> IdOf(std::string_view piece, const ArtifactInput& tokenizer,
                           const TokenizerFacts& facts) {
  if (KindOf(facts) == TokenizerKind::kVocabulary) return Status(Code::kFailedPrecondition, NoSymbols());
  ASSIGN_OR_RETURN(const std::string bytes, ReadTokenizerModel(tokenizer, facts));
  Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return std::move(model).status().Annotate(facts.model);
  const std::vector<SentencePiece>& pieces = model->pieces();
  const auto found = std::find_if(pieces.begin(), pieces.end(), [piece](const SentencePiece& candidate) {
    return candidate.type == PieceType::kUserDefined && candidate.text == piece;
  });
  if (found != pieces.end()) return static_cast<std::uint32_t>(found - pieces.begin());
  return Status(Code::kFailedPrecondition,
                StrCat(kAnswersAfterKey, ": '", piece,
                       "' is no user-defined symbol of the tokenizer, so that text does not always give it "
                       "as one id; name one, or give a tokenizer that has it"));
}

}  // namespace

Status CheckPromisedAnswers(const Json& config, const Promise& promise) {
  const Json& piece = config[kAnswersAfterKey];
  const bool of_plugin = promise.maker.find('.') != std::string_view::npos;  // its keys are unknown
  if (piece.is_null() || promise.named_input != kTokenizerInput || of_plugin) return {};
  if (promise.facts["layout"].AsString() == kBertLayout) return Status(Code::kInvalidArgument, NoSymbols());
  for (const Json& symbol : promise.config[kSymbolsKey].AsArray())
    if (symbol == piece) return {};
  return Status(Code::kInvalidArgument,
                StrCat(kAnswersAfterKey, ": the tokenizer will not have '", piece.AsString(),
                       "' as a piece of its own; add it to `", kSymbolsKey, "` of the stage that trains it"));
}

Result<WeightRule> ChooseAnswersAlone(const StageContext& context, const TokenizerFacts& facts) {
  if (context.config[kAnswersAfterKey].is_null()) return WeightRule();
  const std::string piece(context.config[kAnswersAfterKey].AsString());
  ASSIGN_OR_RETURN(const std::uint32_t mark,
                   IdOf(piece, context.artifacts.at(std::string(kTokenizerInput)), facts));
  return WeightRule{[mark] { return std::make_unique<AnswersAlone>(mark); },
                    StrCat("none of its rows has an id behind '", piece, "', the piece of `",
                           kAnswersAfterKey, "`; give it documents with an answer, or leave the key out")};
}

}  // namespace pipeline
