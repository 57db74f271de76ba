// The key `symbols` of train_tokenizer: pieces that the user names. Rules:
// stages/tokenizer/train_tokenizer.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "stages/tokenizer/tokenizer_layout.h"

namespace pipeline {

inline constexpr std::string_view kSymbolsKey = "symbols";

/// Returns the symbols that `value` lists, in its order; null: none. kInvalidArgument: one cannot be a piece,
/// or is a piece of `layout` already, or is named twice.
Result<std::vector<std::string>> OwnSymbols(const Json& value, const TokenizerLayout& layout);

}  // namespace pipeline
