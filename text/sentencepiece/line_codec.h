// Lines to ids and back with either kind of tokenizer: a SentencePiece model, or a vocab.txt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/sentencepiece/tokenizer_kind.h"
#include "text/wordpiece.h"

namespace pipeline {

/// For few lines: the stage `encode` uses the encoder of its kind. Immutable; any thread may use it.
class LineCodec {
 public:
  /// `bytes`: the whole file. The words of a vocab.txt are those of a text (BertWordKind::kText). kDataLoss:
  /// the file is not of that kind.
  static Result<std::unique_ptr<const LineCodec>> Open(TokenizerKind kind, std::string_view bytes,
                                                       SpaceMarks marks = SpaceMarks::kAreSpaces);

  /// As SentencePieceEncoder::Encode and WordPieceEncoder::Encode: appends ids, and the end of each.
  Status Encode(std::string_view line, std::vector<std::uint32_t>& ids,
                std::vector<std::uint32_t>& ends) const;
  /// The text of ids; that of a vocab.txt is WordPieceVocabulary::TextOf. kInvalidArgument: the tokenizer
  /// lacks an id.
  Result<std::string> Decode(std::span<const std::uint32_t> ids) const;
  /// Null: the tokenizer is a SentencePiece model.
  const WordPieceVocabulary* vocabulary() const { return words_ == nullptr ? nullptr : &words_->vocabulary; }

 private:
  /// A vocab.txt.
  struct Words {
    explicit Words(WordPieceVocabulary given)
        : vocabulary(std::move(given)), encoder(vocabulary, BertWordKind::kText) {}
    WordPieceVocabulary vocabulary;
    WordPieceEncoder encoder;
  };
  LineCodec(std::unique_ptr<const SentencePieceEncoder> model, std::unique_ptr<const Words> words)
      : model_(std::move(model)), words_(std::move(words)) {}

  // One of the two is null.
  const std::unique_ptr<const SentencePieceEncoder> model_;
  const std::unique_ptr<const Words> words_;
};

}  // namespace pipeline
