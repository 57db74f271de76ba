// The keys of a stage, as one table: the parser, the recipe, the JSON Schema and the reference page
// are all made from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pipeline {

enum class ValueType : std::uint8_t {
  kString,
  kInteger,  // JSON int
  kNumber,   // JSON double
  kBoolean,
  kBytes,    // "64MiB", "200MB" or an integer; JSON int
  kChoice,   // one of ConfigKey::choices; JSON string
  kStrings,  // a list of strings, or one string; JSON array
  kSplits,   // a map of split names to a fraction or `rest`, order kept; JSON array of [name, fraction],
             // `rest` resolved to what the others leave
  kFractionRange,  // [low, high], fractions from 0 to 1, the lower one first; JSON array of two doubles
  kShards,         // `auto` or a positive integer; JSON string "auto" or int
  kShuffle,        // `none` or {seed: N, compress_spills: bool}; JSON "none" or object
  kMap,            // a map of whatever there is (spec/free_value.h); JSON object
};

/// What a key has a say in, and so whether it belongs to the recipe.
enum class Effect : std::uint8_t {
  kBytes,     // the output: part of the recipe
  kNone,      // place, speed or budget: never part of a key
  kContinue,  // how far a Job goes on: logged, but not part of the recipe
};

struct ConfigKey {
  std::string_view name;
  ValueType type;
  /// As it would be written in the file; empty means that the key must be given, "~" that it may
  /// be left out and is then absent from the configuration.
  std::string_view fallback;
  Effect effect;
  std::string_view help;  // one sentence for the reference page
  std::vector<std::string_view> choices = {};
  /// The key of which this one tells: where --set changes that one alone, this one is as if left out.
  std::string_view tells_of = {};
};

/// A stage's configuration: every key of its table that has a value, in the JSON form above.
/// `canonical` keeps only keys with Effect::kBytes; sorted, without white space.
Json CanonicalConfig(const std::vector<ConfigKey>& keys, const Json& config);
/// The keys with Effect::kContinue, as text; empty where there are none.
std::string ContinueConfig(const std::vector<ConfigKey>& keys, const Json& config);

/// "64MiB", "1.5GB", "4096" as bytes; kInvalidArgument says what is accepted.
Result<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace pipeline
