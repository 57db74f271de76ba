#include "dag/pipeline_file/file_keys.h"

namespace pipeline {

const std::vector<ConfigKey>& LimitKeys() {
  static const std::vector<ConfigKey> kKeys = {
      {"memory", ValueType::kBytes, "4GiB", Effect::kNone, "The most memory that a run takes."},
      {"disk", ValueType::kBytes, "~", Effect::kNone,
       "The most disk that the work directory takes; no bound without it."},
  };
  return kKeys;
}

const std::vector<ConfigKey>& StageKeys() {
  static const std::vector<ConfigKey> kKeys = {
      {"type", ValueType::kString, "", Effect::kBytes, "The work that the stage does."},
      {"plugin", ValueType::kString, "~", Effect::kBytes,
       "The plugin that has the type, by name or by path; without it the type is one of this program's."},
      {"input", ValueType::kString, "~", Effect::kBytes, "The stage that it reads."},
      {"out", ValueType::kString, "~", Effect::kNone,
       "The directory or URL where it publishes; needed by, and only for, stages that publish."},
      {"keep", ValueType::kBoolean, "false", Effect::kNone, "Keeps its records in the work directory."},
  };
  return kKeys;
}

}  // namespace pipeline
