// Which of the objects at a place are of the artifact there, which of other runs, and which are somebody's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/manifest.h"
#include "dag/place/place_names.h"
#include "dag/run_log.h"
#include "spec/graph.h"
#include "storage/store.h"

namespace pipeline {

/// `listed`, all of a place, without what the program keeps there for itself (kOwnPrefix), and without what
/// lies below the place of another artifact, be it that of another stage or a trial of the same (`--subset`):
/// a directory with a manifest or with such objects. In the same order.
std::vector<ObjectInfo> OwnObjects(std::vector<ObjectInfo> listed);

/// ObjectNames of one stage, with its configuration and its splits. Each test may be empty.
struct NameTests {
  std::function<bool(std::string_view object)> own, read;
};
/// The type, or the graph, outlives the tests.
NameTests NameTestsOf(const StageType& type, const Json& config, const std::vector<std::string>& splits);
NameTests NameTestsOf(const Graph& graph, int node);

/// The names of all objects of `manifest`, but not its own.
std::vector<std::string> NamesIn(const Manifest& manifest);

/// The names of objects at one place, told apart. The manifest is in neither.
struct PlaceContents {
  std::vector<std::string> ours;    // of the artifact, or left by runs
  std::vector<std::string> others;  // somebody's
};
/// The objects at a place, and the facts that tell them apart.
struct PlaceView {
  Store& out;
  const std::vector<ObjectInfo>& there;  // all that lies there
  const Manifest* manifest = nullptr;    // null where there is none
  const NameTests& tests;
  const RunLog* log =
      nullptr;  // of the work directory: what it says of `stage` at `place` counts; null: none
  std::string_view stage = {};
  std::string_view place = {};
};
/// Reads logs only where the list is not complete.
Result<PlaceContents> TellApart(const PlaceView& view, const PlaceNames& list);

/// True for the name of an object of somebody's that the stage would write over, or that those would read who
/// read its artifact by a pattern.
bool IsInTheWay(const NameTests& tests, std::string_view object);

}  // namespace pipeline
