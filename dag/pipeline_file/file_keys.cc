#include "dag/pipeline_file/file_keys.h"

namespace pipeline {

const std::vector<ConfigKey>& LimitKeys() {
  static const std::vector<ConfigKey> kKeys = {
      {"memory", ValueType::kBytes, "4GiB", "The most memory that a run takes.", Effect::kNone},
      {"disk", ValueType::kBytes, "~", "The most disk that the work directory takes; no bound without it.",
       Effect::kNone},
  };
  return kKeys;
}

const std::vector<ConfigKey>& StageKeys() {
  static const std::vector<ConfigKey> kKeys = {
      {"type", ValueType::kString, "", "The work that the stage does."},
      {"plugin", ValueType::kString, "~",
       "The plugin that has the type, by name or by path; without it the type is one of this program's."},
      {"input", ValueType::kString, "~", "The stage that it reads."},
      {"out", ValueType::kString, "~",
       "The directory or URL where it publishes; needed by, and only for, stages that publish.",
       Effect::kNone},
      {"keep", ValueType::kBoolean, "false", "Keeps its records in the work directory.", Effect::kNone},
  };
  return kKeys;
}

}  // namespace pipeline
