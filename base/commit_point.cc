#include "base/commit_point.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace pipeline {

namespace {
CommitPointHook& TheHook() {
  static CommitPointHook hook;
  return hook;
}
}  // namespace

CommitPointHook SetCommitPointHook(CommitPointHook hook) { return std::exchange(TheHook(), std::move(hook)); }

void PassCommitPoint(std::string_view point) {
  assert(std::find(std::begin(kCommitPoints), std::end(kCommitPoints), point) != std::end(kCommitPoints));
  if (TheHook()) TheHook()(point);
}

}  // namespace pipeline
