#include "cli/worker/opened_package.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/terminal/exit_code.h"
#include "storage/remote/open_store.h"

namespace pipeline {

int OpenPackage(const std::string& location, OpenedPackage& opened) {
  Result<std::unique_ptr<Store>> store = OpenStore(location);
  if (!store.ok()) {
    LogError(store.status().message());
    return kExitUsage;
  }
  opened.store = std::move(*store);
  Result<WorkPackage> plan = ReadWorkPackage(*opened.store);
  if (!plan.ok()) {
    LogError(StrCat(location, ": ", plan.status().message()));
    const Code code = plan.status().code();
    return code == Code::kNotFound ? kExitUsage : code == Code::kUnavailable ? kExitTryAgain : kExitConfig;
  }
  opened.plan = std::move(*plan);
  return kExitDone;
}

std::unique_ptr<LoadedPipeline> LoadPackage(const WorkPackage& plan) {
  if (chdir(plan.directory.c_str()) != 0)
    LogWarning(StrCat(plan.directory, ": is not on this machine; relative paths will not be found"));
  PipelineOptions file;
  file.file = plan.file;
  file.set = plan.set;
  file.subset = plan.subset;
  return LoadPipelineText(plan.pipeline, file, LoadPurpose::kRun);
}

}  // namespace pipeline
