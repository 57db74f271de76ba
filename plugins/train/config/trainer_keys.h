// The keys, bounds and presets of the bundled trainer, which the plugin checks before anything runs.
#pragma once

#include "base/json.h"

namespace pipeline {

/// {"sections": {SECTION: {KEY: {"type", "default", "null", "low", "above", "below", "high", "choices",
/// "auto"}}}, "presets": {NAME: {SECTION: {KEY: VALUE}}}, "optimizers": {NAME: [KEY]}, "own_defaults":
/// {OPTIMIZER: {KEY: VALUE}}, "families": {NAME: {"objectives", "experts"}},
/// "model_types": {a model_type of the config.json of a model to begin with: FAMILY}}. Made from
/// pipe_trainer/config.py by tests/plugins/train/trainer_keys.py --write; the test of that name compares
/// them.
const Json& TrainerKeys();

}  // namespace pipeline
