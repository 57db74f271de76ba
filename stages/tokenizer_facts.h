// What a tokenizer says about itself to the stages that use its ids.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"
#include "spec/registry.h"
#include "text/wordpiece.h"

namespace pipeline {

inline constexpr std::uint64_t kMaxTokenizerModelBytes = std::uint64_t{1} << 30;

/// What stages call the port that their tokenizer stands at.
inline constexpr std::string_view kTokenizerPort = "tokenizer";

/// The layout of a file that nobody has told one of.
inline constexpr std::string_view kLayoutOfFiles = "unknown";

/// Kept in the manifest of a tokenizer's artifact, and by what is made with it.
struct TokenizerFacts {
  std::string layout;  // "pipe", "flax_lm1b", "t5", "bert", …
  std::uint32_t vocab_size = 0;
  // Each is below vocab_size; -1 where the layout has none.
  std::int32_t pad_id = -1;
  std::int32_t bos_id = -1;
  std::int32_t eos_id = -1;
  std::int32_t unk_id = -1;
  std::int32_t newline_id = -1;
  std::string model;    // name of its file
  Digest model_digest;  // of that file's bytes
  // Of a vocab.txt, and only there.
  std::int32_t cls_id = -1;
  std::int32_t sep_id = -1;
  std::int32_t mask_id = -1;
  bool morphemes = false;  // it was trained on morphemes, which are its words
  bool operator==(const TokenizerFacts&) const = default;
};

Json ToJson(const TokenizerFacts& facts);

/// kDataLoss naming the member that is missing or wrong. Members that are not known are passed over.
Result<TokenizerFacts> TokenizerFactsFromJson(const Json& json);

/// The tokenizer that `artifact` holds: what its stage said about it, or what a file, which is a
/// SentencePiece model or, named .txt, a vocabulary of BERT, says itself. The model lies in
/// artifact.directory under the name `model`.
Result<TokenizerFacts> ReadTokenizerFacts(const ArtifactInput& artifact);

/// For StageType::check_promised: `check` of what the stage at the port `tokenizer` promises. What it cannot
/// say before it runs is judged when it has run.
std::function<Status(const Json& config, const Schema& schema, const Promise& promise)> OfPromisedTokenizer(
    Status (*check)(const Json& config, const Schema& schema, const TokenizerFacts& facts));

/// What the vocabulary `file` of those bytes says.
TokenizerFacts FactsOfVocabulary(const WordPieceVocabulary& vocabulary, std::string_view file,
                                 std::string_view bytes);

/// Whether a file of that name is a vocab.txt.
bool IsVocabularyFile(std::string_view name);

/// The bytes of that file, which go with its ids. kDataLoss where they are not those that `facts` name.
Result<std::string> ReadTokenizerModel(const ArtifactInput& artifact, const TokenizerFacts& facts);

struct VocabularyFile {
  std::string bytes;
  WordPieceVocabulary pieces;
};

/// The vocab.txt of `artifact`. kDataLoss as ReadTokenizerModel, where it is no vocabulary, and where `facts`
/// say another size or other special pieces than it has.
Result<VocabularyFile> ReadVocabulary(const ArtifactInput& artifact, const TokenizerFacts& facts);

}  // namespace pipeline
