// The number of this machine among the machines that run one Job together.
#pragma once

#include "base/json.h"

namespace pipeline {

/// Machine 0 is the leader: it runs the whole pipeline. The others are followers: they run this Job alone,
/// hold no location, publish nothing and write no log line.
struct JobPosition {
  int host = 0;
  int hosts = 1;
  Json answer;  // of the stage, with more members for the stage itself; null: it was not asked

  bool follows() const { return host > 0; }
};

}  // namespace pipeline
