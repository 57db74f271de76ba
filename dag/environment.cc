#include "dag/environment.h"

#include "base/str.h"

namespace pipeline {

Result<std::unique_ptr<Store>> OpenPlace(const Environment& environment, const std::string& place) {
  if (!place.starts_with(kWorkPlace)) return environment.open_store(place);
  return environment.work_store(StrCat("artifacts/", place.substr(kWorkPlace.size())));
}

std::string UriOfPlace(const Environment& environment, const std::string& place) {
  if (!place.starts_with(kWorkPlace)) return place;
  return StrCat(environment.artifacts, "/", place.substr(kWorkPlace.size()));
}

}  // namespace pipeline
