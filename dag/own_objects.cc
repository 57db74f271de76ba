#include "dag/own_objects.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/str.h"
#include "dag/manifest.h"
#include "dag/place_log.h"

namespace pipeline {

namespace {

using Places = std::set<std::string, std::less<>>;

/// The place, other than the listed one, that `object` is a sign of; empty where it is none.
std::string_view PlaceOf(std::string_view object) {
  const std::size_t own = object.find(StrCat('/', kOwnPrefix));
  if (own != std::string_view::npos) return object.substr(0, own);
  const std::string manifest = StrCat('/', kManifestName);
  return object.ends_with(manifest) ? object.substr(0, object.size() - manifest.size()) : std::string_view();
}

bool IsBelow(const Places& places, std::string_view object) {
  for (std::size_t end = object.find('/'); end != std::string_view::npos; end = object.find('/', end + 1))
    if (places.contains(object.substr(0, end))) return true;
  return false;
}

}  // namespace

std::vector<ObjectInfo> OwnObjects(std::vector<ObjectInfo> listed) {
  Places places;
  for (const ObjectInfo& object : listed)
    if (const std::string_view place = PlaceOf(object.name); !place.empty()) places.emplace(place);
  std::erase_if(listed, [&places](const ObjectInfo& object) {
    return object.name.starts_with(kOwnPrefix) || IsBelow(places, object.name);
  });
  return listed;
}

}  // namespace pipeline
