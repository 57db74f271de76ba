#include "stages/tokenizer/tokenizer_settings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "stages/tokenizer/wordpiece_training.h"
#include "text/regular_expression.h"
#include "text/vocabulary_sizes.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostSymbols = 256;
constexpr std::size_t kLongestSymbol = 64;  // bytes

/// Returns the reason why `symbol` cannot be a piece; empty: it can.
std::string WrongWith(std::string_view symbol, const TokenizerLayout& layout) {
  if (symbol.empty() || symbol.size() > kLongestSymbol)
    return StrCat("a symbol has 1 to ", kLongestSymbol, " bytes");
  // The library's list of symbols has commas and quotes; U+2581 stands for a space and U+2585 for unknown
  // text.
  const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) <= ' ' || byte == '\x7F'; };
  if (std::ranges::any_of(symbol, is_control) || symbol.find_first_of(",\"") != std::string_view::npos ||
      symbol.find("\u2581") != std::string_view::npos || symbol.find("\u2585") != std::string_view::npos)
    return "it has a white space, a comma, a quote, U+2581 or U+2585";
  const auto is_of = [symbol](const std::vector<std::string_view>& pieces) {
    return std::ranges::find(pieces, symbol) != pieces.end();
  };
  if (is_of({"<pad>", "<s>", "</s>", "<unk>"}) || is_of(layout.controls) || is_of(layout.symbols) ||
      symbol.starts_with("<0x") || symbol.starts_with("<extra_id_"))
    return "tokenizers have such a piece of their own; choose another name";
  return {};
}

constexpr std::string_view kMinCountKey = "min_count";
constexpr std::int64_t kMostPieces = 1 << 24;  // of a SentencePiece model

Status Refuse(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

}  // namespace

Result<std::vector<std::string>> OwnSymbols(const Json& value, const TokenizerLayout& layout) {
  const auto refuse = [](std::string why) {
    return Status(Code::kInvalidArgument, StrCat(kSymbolsKey, ": ", why));
  };
  std::vector<std::string> symbols;
  for (const Json& item : value.AsArray()) {
    std::string symbol(item.AsString());
    if (const std::string wrong = WrongWith(symbol, layout); !wrong.empty())
      return refuse(StrCat("'", symbol, "': ", wrong));
    if (std::ranges::find(symbols, symbol) != symbols.end())
      return refuse(StrCat("'", symbol, "' is named twice"));
    symbols.push_back(std::move(symbol));
  }
  if (symbols.size() > kMostSymbols)
    return refuse(StrCat(symbols.size(), " symbols, more than ", kMostSymbols));
  if (!symbols.empty() && layout.name == kBertLayout)
    return refuse(
        "a vocab.txt has none, because BERT's tokenizer gives text no special piece; leave the key out");
  return symbols;
}

bool HasColumn(const Schema& schema, std::string_view name) { return schema.columns.count(name) != 0; }

bool IsByLibrary(const Json& config) {
  return config["model"].AsString() != "unigram" || config[kEngineKey].AsString() == kLibraryEngine;
}

Result<TokenizerSettings> TokenizerSettingsOf(const Json& config, const Schema& schema) {
  TokenizerSettings settings;
  TrainingSettings& training = settings.training;
  training.layout = FindTokenizerLayout(config["layout"].AsString());
  if (training.layout == nullptr) return Refuse("layout: no such layout");
  training.model = config["model"].AsString();
  training.is_auto = config["vocab_size"].is_string();
  training.vocab_size = training.is_auto ? std::int64_t{kMostOfAuto} : config["vocab_size"].AsInt();
  training.byte_fallback = config["byte_fallback"].AsBool(true);
  training.character_coverage = config["character_coverage"].AsDouble();
  training.max_piece_length = config["max_piece_length"].AsInt();
  training.by_library = IsByLibrary(config);
  settings.compare = config["compare_boundaries"].AsBool(true);
  training.pattern = config[kPatternKey].AsString();
  training.min_count = config[kMinCountKey].AsInt(1);
  ASSIGN_OR_RETURN(training.symbols, OwnSymbols(config[kSymbolsKey], *training.layout));

  const bool has_cuts = HasColumn(schema, "cuts");
  const std::string_view boundaries = config["boundaries"].AsString();
  const bool words = training.model == "word";
  const bool wordpiece = training.model == kWordPieceModel;
  if (wordpiece != (training.layout->name == kBertLayout))
    return Refuse(wordpiece ? "layout: a model of WordPiece has the ids that BERT wants; write `layout: bert`"
                            : "layout: bert is that of a vocab.txt; write `model: wordpiece`");
  training.boundaries =
      BoundariesNamed(boundaries).value_or(has_cuts && !words ? Boundaries::kCuts : Boundaries::kNone);
  const bool by_script = training.boundaries == Boundaries::kScripts;
  if (by_script && training.by_library)
    return Refuse(
        "boundaries: scripts is for `model: unigram` with `engine: own`; the other trainers have their own "
        "rules for scripts: write `none`");
  if (!training.pattern.empty() && training.by_library)
    return Refuse("pattern: only our trainer has it; write `model: unigram` and `engine: own`");
  if (config.Has(kMinCountKey) && training.by_library)
    return Refuse("min_count: only our trainer has it; write `model: unigram` and `engine: own`");
  if (training.boundaries != Boundaries::kNone && !by_script && !has_cuts)
    return Refuse(StrCat("boundaries: ", boundaries,
                         " needs the column 'cuts', which its input does not have; put "
                         "segment_words in front of it, or write `boundaries: none`"));
  if (wordpiece && training.boundaries != Boundaries::kCuts && training.boundaries != Boundaries::kNone)
    return Refuse(StrCat("boundaries: ", boundaries,
                         " is for SentencePiece; the words of WordPiece are morphemes with `cuts`, those of "
                         "BERT with `none`"));
  if (wordpiece) {
    training.byte_fallback = settings.compare = false;
  }
  if (words && OfDistinctMorphemes(training.boundaries))
    return Refuse(
        "boundaries: a model of words finds only words between spaces, and morphemes have no spaces "
        "around them; take `model: unigram`");
  return settings;
}

std::int64_t LeastPieces(const TrainingSettings& training) {
  return kLeastPieces + static_cast<std::int64_t>(training.symbols.size()) +
         (training.byte_fallback ? 256 : 0);
}

Status CheckRanges(const TrainingSettings& training) {
  const std::int64_t least = LeastPieces(training);
  const bool wordpiece = training.model == kWordPieceModel;
  const std::int64_t most = wordpiece ? std::int64_t{kMaxWordPieces} : kMostPieces;
  if (training.vocab_size < least || training.vocab_size > most)
    return Refuse(StrCat("vocab_size: ", training.vocab_size, " is not between ", least, " and ", most,
                         wordpiece ? ", the most that a vocab.txt may have" : "",
                         training.byte_fallback ? " (256 of them are bytes, for byte_fallback)" : ""));
  if (!(training.character_coverage >= 0.98 && training.character_coverage <= 1))
    return Refuse("character_coverage: not between 0.98 and 1");
  if (training.min_count < 1) return Refuse("min_count: is less than 1");
  if (training.max_piece_length < 1 || training.max_piece_length > 512)
    return Refuse("max_piece_length: not between 1 and 512");
  if (!training.pattern.empty()) {
    const Status valid = RegularExpression::Make(training.pattern).status();
    if (!valid.ok()) return Refuse(StrCat("pattern: ", valid.message()));
  }
  return {};
}

std::vector<ConfigKey> TokenizerKeys() {
  return {
      Choice("model", "unigram", {"unigram", "bpe", "word", "char", "wordpiece"},
             "How pieces are found; `wordpiece` makes the vocab.txt of BERT."),
      {"vocab_size", ValueType::kIntegerOrAuto, "32000",
       "How many pieces are trained, special ones included; the sentinels of layout t5 come on top. `auto`: "
       "as "
       "many as the text has, at most 32000."},
      Choice("layout", "pipe", TokenizerLayoutNames(),
             "Ids of the special pieces and treatment of text, as the trainer that will load it wants them."),
      Choice(
          "boundaries", "auto", {"auto", "cuts", "cuts_in_words", "spaces", "none", "scripts"},
          "The borders that no piece crosses: morphemes, a space being a piece of its own (cuts) or the "
          "front "
          "of the morpheme behind it (cuts_in_words, for scripts with spaces); morphemes that then count as "
          "words (spaces); spaces and changes of the script (scripts), with kanji and kana as one script "
          "(none). "
          "auto is cuts where the column is there, else none."),
      {"byte_fallback", ValueType::kBoolean, "true",
       "Whether a character without a piece becomes its UTF-8 bytes instead of the unknown piece; not with "
       "`wordpiece`."},
      {"character_coverage", ValueType::kNumber, "0.9995",
       "Share of all characters of the text that get a piece of their own."},
      {"max_piece_length", ValueType::kInteger, "16", "Characters of the longest piece."},
      {kSymbolsKey, ValueType::kStrings, "~",
       "Pieces that any text with them gives as one id, such as <answer>; their ids follow those of the "
       "layout."},
      {kPatternKey, ValueType::kString, "~",
       "A regular expression: no piece crosses the beginning or the end of one of its matches, such as "
       "\\p{Nd} for "
       "pieces with at most one digit. For `engine: own`."},
      {kMinCountKey, ValueType::kInteger, "~",
       "Words that occur less often are ignored; from 2 on their counts need not fit in memory. If absent: "
       "1. "
       "For `engine: own`."},
      Choice(kEngineKey, "~", {"own", kLibraryEngine},
             "Which trainer finds the pieces of a unigram model: our own one, or the library; if absent: "
             "own. The "
             "library makes the other SentencePiece models in any case."),
      {"compare_boundaries", ValueType::kBoolean, "true",
       "Whether the report compares the choices for boundaries, with three small tokenizers."},
  };
}

}  // namespace pipeline
