// Checks `config` of the bundled trainer without its environment, before anything runs.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace pipeline {

/// The objective that learns pairs of sentences of write_bert, and no packed rows.
inline constexpr std::string_view kPairsObjective = "next_sentence";

/// kInvalidArgument has every mistake: an unknown preset, section or key, a value out of its bounds, a key of
/// another optimiser, a shape that contradicts itself. `has_init`: the model begins with another one, whose
/// family is not known here. The trainer checks the same again, and combinations of keys that are rare.
Status CheckTrainerConfig(const Json& config, bool has_init);

/// Returns the values of all sections that the trainer would have, as far as `config` is right: its preset,
/// and what it changes.
Json CompleteTrainerConfig(const Json& config);

}  // namespace pipeline
