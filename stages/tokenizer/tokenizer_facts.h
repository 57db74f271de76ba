// The facts about a tokenizer that stages need to use its ids.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/named_input.h"
#include "dag/pipeline_file/stage_context.h"
#include "formats/sentencepiece_model.h"
#include "text/sentencepiece/tokenizer_kind.h"
#include "text/wordpiece.h"

namespace pipeline {

inline constexpr std::uint64_t kMaxTokenizerModelBytes = std::uint64_t{1} << 30;

/// The name of the named input for a tokenizer.
inline constexpr std::string_view kTokenizerInput = "tokenizer";

/// The named input for the tokenizer that made the ids of the records.
NamedInput TokenizerOfIds();

/// The name of a SentencePiece model that a stage trained, in its artifact.
inline constexpr std::string_view kTokenizerModelFile = "tokenizer.model";
/// The name of a vocab.txt in the artifact of the stage that trained it, and beside records that it made.
inline constexpr std::string_view kBertVocabularyFile = "vocab.txt";

/// The layout of a model file whose layout is unknown.
inline constexpr std::string_view kLayoutOfFiles = "unknown";

/// Stored in the manifest of a tokenizer's artifact and in that of each artifact made with it.
struct TokenizerFacts {
  std::string layout;  // "pipe", "flax_lm1b", "t5", "bert", …
  std::uint32_t vocab_size = 0;
  // Each is less than vocab_size; -1: the layout has none.
  std::int32_t pad_id = -1;
  std::int32_t bos_id = -1;
  std::int32_t eos_id = -1;
  std::int32_t unk_id = -1;
  std::int32_t newline_id = -1;
  std::string model;    // file name
  Digest model_digest;  // of the file's bytes
  // Only for a vocab.txt.
  std::int32_t cls_id = -1;
  std::int32_t sep_id = -1;
  std::int32_t mask_id = -1;
  bool morphemes = false;  // trained on morphemes: they are its words
  bool operator==(const TokenizerFacts&) const = default;
};

Json ToJson(const TokenizerFacts& facts);

/// kDataLoss names the missing or wrong member. Ignores unknown members.
Result<TokenizerFacts> TokenizerFactsFromJson(const Json& json);

/// The tokenizer in `artifact`: the facts of its stage, or those read from a file, which is a SentencePiece
/// model or, if named .txt, a BERT vocabulary. The model is in artifact.directory under the name `model`.
Result<TokenizerFacts> ReadTokenizerFacts(const ArtifactInput& artifact);

/// For StageType::check_promised: applies `check` to the facts that the stage at the named input
/// `tokenizer` promises. Facts that are unknown before it runs are checked afterwards.
std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> OfPromisedTokenizer(
    Status (*check)(const Json& config, const Schema& schema, const TokenizerFacts& facts));

/// The facts of the vocabulary `file` with these bytes.
TokenizerFacts FactsOfVocabulary(const WordPieceVocabulary& vocabulary, std::string_view file,
                                 std::string_view bytes);

/// The facts of the SentencePiece model `file` with these bytes.
TokenizerFacts FactsOfModel(std::string_view layout, const SentencePieceModel& model, std::string_view file,
                            std::string_view bytes);

/// True if the file name is that of a vocab.txt.
bool IsVocabularyFile(std::string_view name);

/// The kind of the model of `facts`, by its name.
TokenizerKind KindOf(const TokenizerFacts& facts);

/// The bytes of the model file. kDataLoss if their digest differs from `facts`.
Result<std::string> ReadTokenizerModel(const ArtifactInput& artifact, const TokenizerFacts& facts);

struct VocabularyFile {
  std::string bytes;
  WordPieceVocabulary pieces;
};

/// The vocab.txt of `artifact`. kDataLoss as ReadTokenizerModel, and if it is not a vocabulary or if its
/// size or special pieces differ from `facts`.
Result<VocabularyFile> ReadVocabulary(const ArtifactInput& artifact, const TokenizerFacts& facts);

}  // namespace pipeline
