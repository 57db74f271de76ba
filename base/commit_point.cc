#include "base/commit_point.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace pipeline {

namespace {
CommitPointHook& TheHook() {
  static CommitPointHook hook;
  return hook;
}
}  // namespace

CommitPointHook SetCommitPointHook(CommitPointHook hook) { return std::exchange(TheHook(), std::move(hook)); }

void PassCommitPoint(std::string_view point) {
  CHECK(std::find(std::begin(kCommitPoints), std::end(kCommitPoints), point) != std::end(kCommitPoints),
        point);
  if (TheHook()) TheHook()(point);
}

}  // namespace pipeline
