#include "dag/environment.h"

#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "storage/bundle_store.h"

namespace pipeline {

Result<std::unique_ptr<Store>> OpenOutputs(const Environment& environment, const std::string& directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> files, environment.work_store("artifacts/" + directory));
  return std::make_unique<BundleStore>(std::move(files));
}

Result<std::unique_ptr<Store>> OpenLocation(const Environment& environment, const std::string& location) {
  if (!location.starts_with(kWorkLocation)) return environment.open_store(location);
  return environment.work_store(StrCat("artifacts/", location.substr(kWorkLocation.size())));
}

std::string UriOfLocation(const Environment& environment, const std::string& location) {
  if (!location.starts_with(kWorkLocation)) return location;
  return StrCat(environment.artifacts, "/", location.substr(kWorkLocation.size()));
}

}  // namespace pipeline
