// A file that the configuration names or implies and no stage makes, such as a dictionary.
#pragma once

#include <string>

namespace pipeline {

struct StageFile {
  std::string name;  // for people, e.g. "dictionary ipadic/sys.dic"; unique in the stage
  std::string path;
  /// Belongs to the machine: a change is reported and causes no new run, as for libraries.
  bool of_machine = false;
};

}  // namespace pipeline
