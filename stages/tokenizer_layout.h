// Which ids a tokenizer gives to its special pieces and how it takes text: what the trainer that will load it
// wants. Rules: stages/train_tokenizer.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer_facts.h"

namespace pipeline {

/// The layout of a vocab.txt, which no SentencePiece model has.
inline constexpr std::string_view kBertLayout = "bert";

struct TokenizerLayout {
  std::string_view name;
  int pad, bos, eos, unk;                       // -1: none
  std::vector<std::string_view> controls = {};  // take the lowest ids that are free
  std::vector<std::string_view> symbols = {};   // the next ones; cut out of any text
  bool keeps_text = false;                      // identity; otherwise nmt_nfkc and the library's spacing
  int sentinels = 0;                            // appended behind the trained pieces
};

/// Null for another name.
const TokenizerLayout* FindTokenizerLayout(std::string_view name);
std::vector<std::string_view> TokenizerLayoutNames();

/// How the library is told about `layout`. `morphemes`: sentences are morphemes, so that none begins a word.
std::map<std::string, std::string> LayoutOptions(const TokenizerLayout& layout, bool morphemes);

/// Makes of what the library trained the model of `layout`: without what a machine left in it, with the
/// layout's spacing. The sentinels come after that (AppendSentinels).
void FinishModel(const TokenizerLayout& layout, SentencePieceModel& model);

/// "▁<extra_id_99>" … "▁<extra_id_0>", as seqio appends them to a model.
void AppendSentinels(const TokenizerLayout& layout, SentencePieceModel& model);

/// What stages that use the ids ask: layout, vocab_size, {pad,bos,eos,unk,newline}_id (-1: none), model (the
/// name of its file) and model_digest.
Json TokenizerFactsOf(const TokenizerLayout& layout, const SentencePieceModel& model, std::string_view file,
                      std::string_view bytes);

/// What can be said of a model before it is trained: the ids of its special pieces, and that it has no fewer
/// than so many pieces. Without a digest.
TokenizerFacts PromisedFacts(const TokenizerLayout& layout, std::uint32_t least_pieces);

}  // namespace pipeline
