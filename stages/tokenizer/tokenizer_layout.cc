#include "stages/tokenizer/tokenizer_layout.h"

#include <array>
#include <set>

#include "base/digest.h"
#include "base/enumeration.h"
#include "base/str.h"

namespace pipeline {

namespace {

const std::array<TokenizerLayout, 5>& Layouts() {
  static const std::array<TokenizerLayout, 5> layouts = {{
      {.name = "pipe", .pad = 0, .bos = 1, .eos = 2, .unk = 3, .symbols = {"\n"}, .keeps_text = true},
      {.name = "flax_lm1b", .pad = -1, .bos = 1, .eos = 2, .unk = 0},
      {.name = "t5", .pad = 0, .bos = -1, .eos = 1, .unk = 2, .sentinels = 100},
      {.name = "jestimator",
       .pad = 0,
       .bos = -1,
       .eos = 5,
       .unk = 1,
       .controls = {"<cls>", "<sep>", "<mask>"}},  // 2, 3, 4
      {.name = kBertLayout,
       .pad = 0,
       .bos = -1,
       .eos = -1,
       .unk = 1,
       .controls = {"[CLS]", "[SEP]", "[MASK]"}},
  }};
  return layouts;
}

}  // namespace

const TokenizerLayout* FindTokenizerLayout(std::string_view name) {
  for (const TokenizerLayout& layout : Layouts())
    if (layout.name == name) return &layout;
  return nullptr;
}

std::vector<std::string_view> TokenizerLayoutNames() {
  std::vector<std::string_view> names;
  for (const TokenizerLayout& layout : Layouts()) names.push_back(layout.name);
  return names;
}

std::map<std::string, std::string> LayoutOptions(const TokenizerLayout& layout, bool morphemes) {
  std::map<std::string, std::string> options = {
      {"pad_id", std::to_string(layout.pad)},
      {"bos_id", std::to_string(layout.bos)},
      {"eos_id", std::to_string(layout.eos)},
      {"unk_id", std::to_string(layout.unk)},
      {"normalization_rule_name", layout.keeps_text ? "identity" : "nmt_nfkc"},
      // Texts have spaces even if no sentence of the training has one.
      {"required_chars", "\u2581"},
  };
  if (!layout.controls.empty()) options["control_symbols"] = Join(layout.controls, ",");
  if (!layout.symbols.empty()) options["user_defined_symbols"] = Join(layout.symbols, ",");
  if (layout.keeps_text || morphemes) {
    options["add_dummy_prefix"] = "false";
    options["remove_extra_whitespaces"] = "false";
  }
  return options;
}

void FinishModel(const TokenizerLayout& layout, SentencePieceModel& model) {
  model.ScrubTrainer();
  model.SetSpacing(!layout.keeps_text, !layout.keeps_text);
}

void AppendSentinels(const TokenizerLayout& layout, SentencePieceModel& model) {
  for (int number = layout.sentinels - 1; number >= 0; --number)
    model.AppendPiece({StrCat("\u2581<extra_id_", number, ">"), 0, PieceType::kUserDefined});
}

TokenizerFacts PromisedFacts(const TokenizerLayout& layout, std::uint32_t least_pieces) {
  TokenizerFacts facts;
  facts.layout = layout.name;
  facts.vocab_size = least_pieces + static_cast<std::uint32_t>(layout.sentinels);
  facts.pad_id = layout.pad;
  facts.bos_id = layout.bos;
  facts.eos_id = layout.eos;
  facts.unk_id = layout.unk;
  const std::set<int> taken = {layout.pad, layout.bos, layout.eos, layout.unk};
  int free = 0;
  const auto next = [&] {
    while (taken.contains(free)) ++free;
    return free++;
  };
  for (const std::string_view piece : layout.controls) {
    const int id = next();
    if (piece == "[CLS]") facts.cls_id = id;
    if (piece == "[SEP]") facts.sep_id = id;
    if (piece == "[MASK]") facts.mask_id = id;
  }
  for (const std::string_view piece : layout.symbols)
    if (const int id = next(); piece == "\n") facts.newline_id = id;
  return facts;
}

}  // namespace pipeline
