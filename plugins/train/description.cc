#include "plugins/train/description.h"

#include <utility>

#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/command_table.h"
#include "plugins/train/input_check.h"
#include "plugins/train/model_file.h"

namespace pipeline {

namespace {

const std::vector<ConfigKey>& Keys() {
  static const std::vector<ConfigKey> kKeys = {
      Choice("trainer", "bundled",
             {"bundled", "external", "transformer-lm-japanese", "bert", "jestimator", "ttt", "kc-moe",
              "maxtext", "levanter"},
             "Which trainer: bundled, the one that comes with the program; external, any command; or a "
             "preset of "
             "one."),
      {"command", ValueType::kStrings, "~",
       "The words of an external trainer, with placeholders such as {data}, {run_dir} and {steps}."},
      {"recognise", ValueType::kMap, "~",
       "How a step, a loss and a checkpoint of an external trainer are recognised."},
      {"success", ValueType::kStrings, "~",
       "Files of an external trainer that must be there at its end, and are published."},
      {"flags", ValueType::kMap, "~",
       "By preset: flags of its program, in the place of those that the preset gives."},
      {"variables", ValueType::kMap, "~",
       "Variables of the environment of an external trainer, with placeholders."},
      {"files", ValueType::kMap, "~",
       "Names below the directory of an external trainer, and the files that are copied there before it "
       "starts."},
      {"fresh", ValueType::kStrings, "~",
       "Names below the directory of an external trainer that are removed before each attempt."},
      {"directory", ValueType::kString, "~",
       "The working directory of an external trainer; null: that of the program."},
      {"checkout", ValueType::kString, "~",
       "Directory of the sources of an external trainer; null, with a preset: .pipe/programs/PRESET.",
       Effect::kNone},
      {"shared", ValueType::kBoolean, "~",
       "Whether the directory of an external trainer on several hosts is one that all of them see; null: "
       "false.",
       Effect::kNone},
      {"first_step", ValueType::kInteger, "~",
       "The number that an external trainer gives its first step, 0 or 1; null: 1.", Effect::kContinue},
      {"ends_early", ValueType::kBoolean, "~",
       "Whether an external trainer that ends with 0 before `steps` has succeeded; null: false.",
       Effect::kContinue},
      {"fatal", ValueType::kStrings, "~", "Exit codes after which an external trainer is not started again.",
       Effect::kNone},
      {"silence", ValueType::kInteger, "~",
       "Seconds without a line or checkpoint after which an external trainer is started again; null: 1800.",
       Effect::kNone},
      {"settle", ValueType::kInteger, "~",
       "Seconds that a checkpoint of an external trainer without a commit file must stay unchanged; null: "
       "30.",
       Effect::kNone},
      {"config", ValueType::kMap, "{}",
       "The trainer's own configuration: a preset, and the keys that differ from it."},
      {"seed", ValueType::kInteger, "0", "Decides the first weights and the order of the rows."},
      {"steps", ValueType::kInteger, "~", "Steps in all; a larger number continues the training.",
       Effect::kContinue},
      {"epochs", ValueType::kNumber, "~", "In the place of `steps`: how often the training reads all rows.",
       Effect::kContinue},
      {"log_every", ValueType::kInteger, "50", "Steps between two losses.", Effect::kContinue},
      {"eval_every", ValueType::kInteger, "500",
       "Steps between two evaluations on held-out rows; 0: the last one alone.", Effect::kContinue},
      {"checkpoint_every", ValueType::kInteger, "500", "Steps between two checkpoints.", Effect::kContinue},
      {"keep_checkpoints", ValueType::kInteger, "3", "How many checkpoints are kept.", Effect::kContinue},
      {"keep_best", ValueType::kBoolean, "false",
       "Whether the checkpoint of the best evaluation is kept, and exported.", Effect::kContinue},
      {"early_stop", ValueType::kMap, "{}",
       "Ends after `patience` evaluations in a row that are not better by more than `min_delta`.",
       Effect::kContinue},
      {"profile", ValueType::kMap, "{}",
       "Writes a trace of `steps` steps from `step` on, for TensorBoard's page Profile.", Effect::kNone},
      {"prompts", ValueType::kStrings, "[]", "Texts that a sample is written for at each evaluation.",
       Effect::kContinue},
      {"export", ValueType::kBoolean, "true", "Whether the model is exported for other programs at the end.",
       Effect::kContinue},
      {"environment", ValueType::kString, ".pipe/trainer",
       "Directory of the Python environment that `pipe trainer setup` makes; for an external trainer another "
       "one, or a file of requirements with digests, which is installed.",
       Effect::kNone},
      {"processes", ValueType::kInteger, "1", "Workers of the training on this machine.", Effect::kNone},
      {"hosts", ValueType::kString, "auto",
       "Machines that train together, each with the same command; auto: as the environment says.",
       Effect::kNone},
      {"host", ValueType::kString, "auto",
       "Number of this machine among them, from 0; machine 0 runs the other stages and publishes.",
       Effect::kNone},
      {"coordinator", ValueType::kString, "auto",
       "Address of machine 0, without a port, under which the trainers of the others reach it.",
       Effect::kNone},
      {"hosts_wait", ValueType::kInteger, "30", "Minutes to wait for a machine without a sign of life.",
       Effect::kNone},
      {"data_disk", ValueType::kBytes, "~",
       "Disk space for the rows of a bucket on each machine; null: half of the space that is free.",
       Effect::kNone},
      {"restarts", ValueType::kInteger, "3",
       "Attempts in a row without a new checkpoint before it is given up.", Effect::kNone},
      {"grace", ValueType::kInteger, "~",
       "Seconds that the trainer has to save and end when it is stopped; null: two steps and a save, at "
       "least 30.",
       Effect::kNone},
      {"patience", ValueType::kNumber, "1",
       "Factor on the times without a sign after which the trainer is started again.", Effect::kNone},
  };
  return kKeys;
}

}  // namespace

std::unique_ptr<const PluginDescription> Description() {
  StageType train = {
      .name = "train.train",
      .version = 1,
      .help = "Trains a language model on rows of ids, evaluates it, and exports it.",
      .keys = Keys(),
      .takes = Flow::kNothing,
      .gives = Flow::kArtifact,
      .named_inputs =
          {
              {.name = "data",
               .or_file = false,
               .required = false,
               .help =
                   "Rows of token ids, as write_packed makes them, or pairs of sentences of write_bert, with "
                   "the splits train and validation."},
              {.name = "tokenizer",
               .or_file = true,
               .required = false,
               .help = "The tokenizer that made them: a stage that trains one, or a tokenizer.model or "
                       "vocab.txt.",
               .other_files = &OtherFilesOfTokenizer},
              {.name = "data_set",
               .or_file = false,
               .required = false,
               .help = "An artifact of any form that an external trainer reads in the place of rows."},
              {.name = "init_from",
               .or_file = true,
               .required = false,
               .help =
                   "The model whose parameters it begins with: a stage that trains, or model.safetensors or "
                   "model.safetensors.index.json of Hugging Face.",
               .other_files = &OtherFilesOfModel},
          },
      .kind = JobKind{.location_of_recipe = true, .withdraws = true},
  };
  auto description = std::make_unique<PluginDescription>();
  description->verified_inputs = {{train.name, {"data", "data_set"}}};
  description->content_keys = {{train.name, {"environment"}}};
  description->stages.push_back(std::move(train));
  description->commands = TrainCommands();
  description->forms = {{"trainer contract", kTrainerContract}, {"checkpoint", kCheckpointOfParts}};
  return description;
}

}  // namespace pipeline
