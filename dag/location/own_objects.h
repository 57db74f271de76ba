// Tells apart the objects at a location: those of the artifact, those of other runs, and those of other
// people.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "dag/books/run_log.h"
#include "dag/location/location_names.h"
#include "dag/pipeline_file/graph.h"
#include "storage/store.h"

namespace pipeline {

/// Returns `listed` (all objects of a location) in the same order, without the program's own objects
/// (kOwnPrefix) and without objects below the location of another artifact, of another stage or of a trial
/// (`--subset`). Such a location is a directory with a manifest or with objects of kOwnPrefix.
std::vector<ObjectInfo> OwnObjects(std::vector<ObjectInfo> listed);

/// ObjectNames of one stage, with its configuration and its splits. Each test may be empty.
struct NameTests {
  std::function<bool(std::string_view object)> own, read;
};
/// All arguments outlive the tests.
NameTests NameTestsOf(const StageType& type, const Json& config, const std::vector<std::string>& splits);
NameTests NameTestsOf(const Graph& graph, NodeId node);

/// Returns the names of all objects in `manifest`, without the name of the manifest.
std::vector<std::string> NamesIn(const Manifest& manifest);

/// The names of the objects at one location, in two groups. The manifest is in neither.
struct LocationContents {
  std::vector<std::string> ours;    // of the artifact, or leftovers of runs
  std::vector<std::string> others;  // no run wrote them
};
/// The objects at a location, and the data that tell them apart.
struct LocationView {
  Store& out;
  const std::vector<ObjectInfo>& there;  // all objects there
  const Manifest* manifest = nullptr;    // null: there is none
  const NameTests& tests;
  /// Log of the work directory; its lines about `stage` at `location` count. Null: none.
  const RunLog* log = nullptr;
  std::string_view stage = {};
  std::string_view location = {};
};
/// Reads logs only if the list is incomplete.
Result<LocationContents> TellApart(const LocationView& view, const LocationNames& list);

/// Returns whether this object, which no run wrote, is in the way: the stage would overwrite it, or readers
/// that find the artifact by a pattern would read it.
bool IsInTheWay(const NameTests& tests, std::string_view object);

}  // namespace pipeline
