// The ids of a tokenizer's special pieces and its text handling, as required by the trainer that will load
// it. Rules: stages/tokenizer/train_tokenizer.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

/// The layout of a vocab.txt; no SentencePiece model has it.
inline constexpr std::string_view kBertLayout = "bert";

struct TokenizerLayout {
  std::string_view name;
  int pad, bos, eos, unk;                       // -1: none
  std::vector<std::string_view> controls = {};  // get the lowest free ids
  std::vector<std::string_view> symbols = {};   // get the next ids; are matched in any text
  bool keeps_text = false;  // normalizer `identity`; otherwise nmt_nfkc and the library's spacing
  int sentinels = 0;        // appended after the trained pieces
};

/// Null: unknown name.
const TokenizerLayout* FindTokenizerLayout(std::string_view name);
std::vector<std::string_view> TokenizerLayoutNames();

/// The library's options for `layout`. `morphemes`: sentences are morphemes, so none begins a word.
std::map<std::string, std::string> LayoutOptions(const TokenizerLayout& layout, bool morphemes);

/// Turns the library's model into the model of `layout`: removes machine-specific data and sets the
/// layout's spacing. Call AppendSentinels afterwards.
void FinishModel(const TokenizerLayout& layout, SentencePieceModel& model);

/// "▁<extra_id_99>" … "▁<extra_id_0>", as seqio appends them to a model.
void AppendSentinels(const TokenizerLayout& layout, SentencePieceModel& model);

/// The facts known before training: the ids of the special pieces, and the minimum number of pieces.
/// Without a digest.
TokenizerFacts PromisedFacts(const TokenizerLayout& layout, std::uint32_t least_pieces);

}  // namespace pipeline
