#include "text/sentencepiece/line_codec.h"

#include "base/str.h"

namespace pipeline {

Result<std::unique_ptr<const LineCodec>> LineCodec::Open(TokenizerKind kind, std::string_view bytes,
                                                         SpaceMarks marks) {
  if (kind == TokenizerKind::kVocabulary) {
    ASSIGN_OR_RETURN(WordPieceVocabulary vocabulary, WordPieceVocabulary::Parse(bytes));
    return std::unique_ptr<const LineCodec>(
        new LineCodec(nullptr, std::make_unique<const Words>(std::move(vocabulary))));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<const SentencePieceEncoder> model,
                   SentencePieceEncoder::Load(bytes, SentencePieceEncoder::Engine::kOwn, marks));
  return std::unique_ptr<const LineCodec>(new LineCodec(std::move(model), nullptr));
}

Status LineCodec::Encode(std::string_view line, std::vector<std::uint32_t>& ids,
                         std::vector<std::uint32_t>& ends) const {
  if (model_ != nullptr) {
    SentencePieceEncoder::Scratch scratch;
    return model_->Encode(line, scratch, ids, ends);
  }
  BertWords words;
  words_->encoder.Encode(line, {}, words, ids, ends);
  return {};
}

Result<std::string> LineCodec::Decode(std::span<const std::uint32_t> ids) const {
  if (model_ != nullptr) return model_->Decode(ids);
  for (const std::uint32_t id : ids)
    if (id >= words_->vocabulary.size())
      return Status(Code::kInvalidArgument, StrCat("an id is ", id, " and the vocabulary has ",
                                                   words_->vocabulary.size(), " pieces"));
  return words_->vocabulary.TextOf(ids);
}

}  // namespace pipeline
