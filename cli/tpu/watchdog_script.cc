#include "cli/tpu/watchdog_script.h"

#include <string_view>

#include "base/str.h"
#include "cli/tpu/tpu_requests.h"

namespace pipeline {

namespace {

/// The machine counts from its first start: the file of the deadline outlives a restart. A process of a
/// session of its own goes on when the agent that runs the script ends.
// clang-format off
constexpr std::string_view kBody = R"END(
api=${PIPE_WATCHDOG_API:-https://tpu.googleapis.com}
metadata=${PIPE_WATCHDOG_METADATA:-http://metadata.google.internal}
deadline=${PIPE_WATCHDOG_FILE:-/var/tmp/pipe-deadline}
[ -s "$deadline" ] || echo $(($(date +%s) + seconds)) >"$deadline"
until=$(cat "$deadline")
case $until in "" | *[!0-9]*) until=$(($(date +%s) + seconds)) ;; esac
watch() {
  while [ "$(date +%s)" -lt "$until" ]; do sleep 1; done
  while :; do
    token=$(curl -s -f -m 60 -H 'Metadata-Flavor: Google' \
      "$metadata/computeMetadata/v1/instance/service-accounts/default/token" |
      sed -E 's/.*"access_token" *: *"([^"]*)".*/\1/')
    printf 'header = "Authorization: Bearer %s"\n' "$token" |
      curl -s -f -m 60 -X DELETE -K - "$api$machine" >/dev/null
    sleep 60
  done
}
export api metadata until machine
setsid bash -c "$(declare -f watch); watch" </dev/null >/dev/null 2>&1 &
)END";
// clang-format on

}  // namespace

std::string WatchdogScript(const SliceOrder& order) {
  const std::string parent = TpuParent(order.project, order.zone);
  const std::string machine = order.type.queued
                                  ? StrCat(parent, "/queuedResources/", order.name, "?force=true")
                                  : StrCat(parent, "/nodes/", order.name);
  return StrCat("#!/bin/bash\n# Made by pipe tpu: gives this slice back after ", order.most_seconds,
                " seconds.\nseconds=", order.most_seconds, "\nmachine='", machine, "'", kBody);
}

}  // namespace pipeline
