#include "dag/location/own_objects.h"

#include <set>
#include <utility>

#include "base/str.h"
#include "dag/books/location_log.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

using Locations = std::set<std::string, std::less<>>;

/// Returns the location below the listed one that `object` is a sign of. Empty: it is a sign of none.
std::string_view LocationOf(std::string_view object) {
  const std::size_t own = object.find(StrCat('/', kOwnPrefix));
  if (own != std::string_view::npos) return object.substr(0, own);
  const std::string manifest = StrCat('/', kManifestName);
  return object.ends_with(manifest) ? object.substr(0, object.size() - manifest.size()) : std::string_view();
}

bool IsBelow(const Locations& locations, std::string_view object) {
  for (std::size_t end = object.find('/'); end != std::string_view::npos; end = object.find('/', end + 1))
    if (locations.contains(object.substr(0, end))) return true;
  return false;
}

}  // namespace

std::vector<ObjectInfo> OwnObjects(std::vector<ObjectInfo> listed) {
  Locations locations;
  for (const ObjectInfo& object : listed)
    if (const std::string_view location = LocationOf(object.name); !location.empty())
      locations.emplace(location);
  std::erase_if(listed, [&locations](const ObjectInfo& object) {
    return object.name.starts_with(kOwnPrefix) || IsBelow(locations, object.name);
  });
  return listed;
}

NameTests NameTestsOf(const StageType& type, const Json& config, const std::vector<std::string>& splits) {
  const auto bind = [&](const ObjectNames::Test& test) -> std::function<bool(std::string_view)> {
    if (!test) return nullptr;
    return [&test, &config, &splits](std::string_view object) { return test(config, splits, object); };
  };
  const ObjectNames* const names = type.names();
  return names == nullptr ? NameTests() : NameTests{bind(names->own), bind(names->read)};
}

NameTests NameTestsOf(const Graph& graph, NodeId node) {
  const Node& at = graph[node];
  return NameTestsOf(*at.spec->type, at.spec->config, at.in.splits);
}

std::vector<std::string> NamesIn(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.push_back(shard.object.name);
  for (const std::vector<StoredObject>* beside : {&manifest.sidecars, &manifest.followers})
    for (const StoredObject& object : *beside) names.push_back(object.name);
  return names;
}

Result<LocationContents> TellApart(const LocationView& view, const LocationNames& list) {
  NameSet known;
  if (view.manifest != nullptr)
    for (std::string& name : NamesIn(*view.manifest)) known.insert(std::move(name));
  if (!list.complete()) {
    if (view.log != nullptr)
      for (const UnitLine* line : view.log->List(StrCat(view.stage, "/")))
        if (line->location == view.location)
          for (const StoredObject& object : line->objects) known.insert(object.name);
    ASSIGN_OR_RETURN(const std::vector<UnitLine> lines, ReadLocationLog(view.out, view.there));
    for (const UnitLine& line : lines)
      for (const StoredObject& object : line.objects) known.insert(object.name);
  }
  LocationContents contents;
  for (ObjectInfo& object : OwnObjects(view.there)) {
    if (object.name == kManifestName) continue;
    const bool ours = known.contains(object.name) || list.Has(object.name) ||
                      (!list.complete() && view.tests.own && view.tests.own(object.name));
    (ours ? contents.ours : contents.others).push_back(std::move(object.name));
  }
  return contents;
}

bool IsInTheWay(const NameTests& tests, std::string_view object) {
  return (tests.own && tests.own(object)) || (tests.read && tests.read(object));
}

}  // namespace pipeline
