#include "plugins/train/description.h"

#include <string>

#include "base/str.h"
#include "plugins/train/command_table.h"

namespace pipeline {

namespace {

constexpr std::string_view kStages = R"json({"stages": [{
  "name": "train", "version": 1, "kind": "job", "place": "recipe",
  "help": "Trains a language model on packed rows, evaluates it, and exports it.",
  "ports": [
    {"name": "data", "required": false, "verify": true,
     "help": "Rows of token ids, as write_packed makes them, with the splits train and validation."},
    {"name": "tokenizer", "required": false, "or_file": true,
     "help": "The tokenizer that made them: a stage that trains one, or a tokenizer.model."},
    {"name": "data_set", "required": false, "verify": true,
     "help": "An artifact of any form that an external trainer reads in the place of rows."},
    {"name": "init_from", "required": false, "or_file": true,
     "help": "The model whose parameters it begins with: a stage that trains, or model.safetensors of Hugging Face."}],
  "keys": [
    {"name": "trainer", "type": "choice", "choices": ["bundled", "external",
       "transformer-lm-japanese", "bert", "jestimator", "ttt", "kc-moe", "maxtext", "levanter"], "default": "bundled",
     "help": "Which trainer: bundled, the one that comes with the program; external, any command; or a preset of one."},
    {"name": "command", "type": "strings", "default": null,
     "help": "The words of an external trainer, with placeholders such as {data}, {run_dir} and {steps}."},
    {"name": "recognise", "type": "map", "default": null,
     "help": "How a step, a loss and a checkpoint of an external trainer are recognised."},
    {"name": "success", "type": "strings", "default": null,
     "help": "Files of an external trainer that must be there at its end, and are published."},
    {"name": "flags", "type": "map", "default": null,
     "help": "By preset: flags of its program, in the place of those that the preset gives."},
    {"name": "variables", "type": "map", "default": null,
     "help": "Variables of the environment of an external trainer, with placeholders."},
    {"name": "files", "type": "map", "default": null,
     "help": "Names below the directory of an external trainer, and the files that are copied there before it starts."},
    {"name": "fresh", "type": "strings", "default": null,
     "help": "Names below the directory of an external trainer that are removed before each attempt."},
    {"name": "directory", "type": "string", "default": null,
     "help": "The working directory of an external trainer; null: that of the program."},
    {"name": "checkout", "type": "string", "default": null, "effect": "none",
     "help": "Directory of the sources of an external trainer; null, with a preset: .pipe/programs/PRESET."},
    {"name": "shared", "type": "boolean", "default": null, "effect": "none",
     "help": "Whether the directory of an external trainer on several hosts is one that all of them see; null: false."},
    {"name": "fatal", "type": "strings", "default": null, "effect": "none",
     "help": "Exit codes after which an external trainer is not started again."},
    {"name": "silence", "type": "integer", "default": null, "effect": "none",
     "help": "Seconds without a line or checkpoint after which an external trainer is taken for hanging; null: 1800."},
    {"name": "settle", "type": "integer", "default": null, "effect": "none",
     "help": "Seconds that a checkpoint of an external trainer without a commit file must stay unchanged; null: 30."},
    {"name": "config", "type": "map", "default": "{}",
     "help": "The trainer's own configuration: a preset, and the keys that differ from it."},
    {"name": "seed", "type": "integer", "default": "0", "help": "Decides the first weights and the order of the rows."},
    {"name": "steps", "type": "integer", "effect": "continue", "help": "Steps in all; a larger number continues the training."},
    {"name": "log_every", "type": "integer", "default": "50", "effect": "continue", "help": "Steps between two losses."},
    {"name": "eval_every", "type": "integer", "default": "500", "effect": "continue",
     "help": "Steps between two evaluations on held-out rows; 0: the last one alone."},
    {"name": "checkpoint_every", "type": "integer", "default": "500", "effect": "continue",
     "help": "Steps between two checkpoints."},
    {"name": "keep_checkpoints", "type": "integer", "default": "3", "effect": "continue",
     "help": "How many checkpoints are kept."},
    {"name": "keep_best", "type": "boolean", "default": "false", "effect": "continue",
     "help": "Whether the checkpoint of the best evaluation is kept, and exported."},
    {"name": "early_stop", "type": "map", "default": "{}", "effect": "continue",
     "help": "Ends after `patience` evaluations in a row that are not better by more than `min_delta`."},
    {"name": "prompts", "type": "strings", "default": "[]", "effect": "continue",
     "help": "Texts that a sample is written for at each evaluation."},
    {"name": "export", "type": "boolean", "default": "true", "effect": "continue",
     "help": "Whether the model is exported for other programs at the end."},
    {"name": "environment", "type": "string", "default": ".pipe/trainer", "effect": "none", "content": true,
     "help": "Directory of the Python environment that `pipe trainer setup` makes; for an external trainer another one, or a file of requirements with digests, which is installed."},
    {"name": "processes", "type": "integer", "default": "1", "effect": "none",
     "help": "Workers of the training on this machine."},
    {"name": "hosts", "type": "string", "default": "auto", "effect": "none",
     "help": "Machines that train together, each with the same command; auto: as the environment says."},
    {"name": "host", "type": "string", "default": "auto", "effect": "none",
     "help": "Number of this machine among them, from 0; machine 0 runs the other stages and publishes."},
    {"name": "coordinator", "type": "string", "default": "auto", "effect": "none",
     "help": "Address of machine 0, without a port, under which the trainers of the others reach it."},
    {"name": "hosts_wait", "type": "integer", "default": "30", "effect": "none",
     "help": "Minutes to wait for a machine without a sign of life."},
    {"name": "data_disk", "type": "bytes", "default": null, "effect": "none",
     "help": "Disk space for the rows of a bucket on each machine; null: half of the space that is free."},
    {"name": "restarts", "type": "integer", "default": "3", "effect": "none",
     "help": "Attempts in a row without a new checkpoint before it is given up."},
    {"name": "grace", "type": "integer", "default": null, "effect": "none",
     "help": "Seconds that the trainer has to save and end when it is stopped; null: two steps and a save, at least 30."},
    {"name": "patience", "type": "number", "default": "1", "effect": "none",
     "help": "Factor on the times after which the trainer is taken for hanging."}]}])json";

}  // namespace

std::string_view Description() {
  static const std::string description = StrCat(kStages, ", \"commands\": ", TrainCommandsJson(), "}");
  return description;
}

}  // namespace pipeline
