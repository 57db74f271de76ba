// The run and the stage that publish at a location. They identify the run's marker, manifest and objects
// there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "dag/books/run_log.h"
#include "dag/location/own_objects.h"

namespace pipeline {

struct Publishing {
  std::string stage;
  std::string location;  // its URI, for messages
  Digest recipe;
  std::string holder;            // LeaseTerms::holder
  std::string manifest_version;  // of the manifest at planning time; empty: none
  NameTests names;
  const RunLog* log = nullptr;  // log of the work directory; null: none
  std::function<void(std::string_view line)> note = [](std::string_view) {};
};

}  // namespace pipeline
