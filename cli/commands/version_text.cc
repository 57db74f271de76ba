#include <map>

#include "base/str.h"
#include "cli/commands/commands.h"
#include "dag/pipeline_file/stage_type.h"
#include "plugins/plugin_abi.h"
#include "stages/all/builtin.h"

namespace pipeline {

std::string VersionText() {
  const Registry registry = BuiltinStages();
  std::map<std::string, std::string> libraries;  // several stages use the same ones
  for (const StageType& type : registry.types())
    libraries.insert(type.libraries.begin(), type.libraries.end());
  std::string text = StrCat("pipe ", PIPE_VERSION, "\ncommit ", PIPE_COMMIT, "\nplugin ABI ", PIPE_ABI_MAJOR,
                            ".", PIPE_ABI_MINOR);
  for (const auto& [name, version] : libraries) text += StrCat("\n", name, " ", version);
  return text;
}

}  // namespace pipeline
