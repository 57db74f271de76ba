// The keys of a stage as one table. The parser, the recipe, the JSON Schema and the reference page are all
// made from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
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
             // `rest` resolved to the remainder of the others
  kFractionRange,  // [low, high], fractions from 0 to 1, the lower one first; JSON array of two doubles
  kShards,         // `auto` or a positive integer; JSON string "auto" or int
  kShuffle,        // `none` or {seed: N, compress_spills: bool}; JSON "none" or object
  kMap,            // a map of any content (dag/pipeline_file/typed_value.h); JSON object
  kIntegerOrAuto,  // `auto` or a whole number; JSON string "auto" or int
};

/// The effect of a key; this decides whether the key belongs to the recipe.
enum class Effect : std::uint8_t {
  kBytes,     // the output: part of the recipe
  kNone,      // location, speed or budget: never part of a key
  kContinue,  // how far a Job continues: logged, but not part of the recipe
};

struct ConfigKey {
  std::string_view name;
  ValueType type;
  /// The default, as written in the file. Empty: the key is required. "~": the key is optional, and absent
  /// from the configuration if not given.
  std::string_view fallback;
  std::string_view help;  // one sentence for the reference page
  Effect effect = Effect::kBytes;
  /// The key that this one describes. If --set changes only that key: this key is ignored.
  std::string_view tells_of = {};
  std::vector<std::string_view> choices = {};
  /// Returns the choice that another word means; empty: none. Null: only the choices themselves are taken.
  std::string_view (*other_word)(std::string_view word) = nullptr;
};

/// Makes a key whose value is one of `choices`.
inline ConfigKey Choice(std::string_view name, std::string_view fallback,
                        std::vector<std::string_view> choices, std::string_view help,
                        Effect effect = Effect::kBytes) {
  return {name, ValueType::kChoice, fallback, help, effect, {}, std::move(choices)};
}

/// Returns the keys with Effect::kBytes of a stage's configuration, which holds every key of its table that
/// has a value, in the JSON form above. The result is sorted, without white space.
Json CanonicalConfig(const std::vector<ConfigKey>& keys, const Json& config);
/// Returns the keys with Effect::kContinue as text; empty: there are none.
std::string ContinueConfig(const std::vector<ConfigKey>& keys, const Json& config);

/// Parses "64MiB", "1.5GB" or "4096" as bytes. The message of kInvalidArgument names the accepted forms.
Result<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace pipeline
