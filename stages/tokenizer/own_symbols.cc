#include "stages/tokenizer/own_symbols.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/str.h"

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

}  // namespace pipeline
