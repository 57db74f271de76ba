// The keys of train_tokenizer, and what they mean for a training. Rules: stages/tokenizer/train_tokenizer.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/pipeline_file/config.h"
#include "dag/records/schema.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "stages/tokenizer/tokenizer_training.h"

namespace pipeline {

/// The key for pieces that the user names.
inline constexpr std::string_view kSymbolsKey = "symbols";

/// Returns the symbols that `value` lists, in its order; null: none. kInvalidArgument: one cannot be a piece,
/// or is a piece of `layout` already, or is named twice.
Result<std::vector<std::string>> OwnSymbols(const Json& value, const TokenizerLayout& layout);

inline constexpr std::string_view kPatternKey = "pattern";

/// Pieces of any model, without bytes and symbols.
inline constexpr std::uint32_t kLeastPieces = 16;

struct TokenizerSettings {
  TrainingSettings training;
  bool compare = true;
};

std::vector<ConfigKey> TokenizerKeys();

bool HasColumn(const Schema& schema, std::string_view name);

/// Whether the library trains the model.
bool IsByLibrary(const Json& config);

/// kInvalidArgument: two keys, or a key and the columns of the input, contradict each other.
Result<TokenizerSettings> TokenizerSettingsOf(const Json& config, const Schema& schema);

/// kInvalidArgument: a number is outside of its range.
Status CheckRanges(const TrainingSettings& training);

/// Returns the least pieces of any text.
std::int64_t LeastPieces(const TrainingSettings& training);

}  // namespace pipeline
