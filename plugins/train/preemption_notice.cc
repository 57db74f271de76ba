#include "plugins/train/preemption_notice.h"

#include <utility>

#include "base/str.h"
#include "base/wait.h"

namespace pipeline {

namespace {

// Values: cloud.google.com/compute/docs/instances/create-use-preemptible and
// .../metadata/getting-live-migration-notice.
constexpr std::string_view kPreempted = "instance/preempted";
constexpr std::string_view kMaintenance = "instance/maintenance-event";

}  // namespace

PreemptionNotice::PreemptionNotice(Ask ask, std::chrono::milliseconds every)
    : ask_(std::move(ask)), every_(every), thread_([this](const std::stop_token& stop) { Loop(stop); }) {}

bool PreemptionNotice::noticed() const {
  const Lock lock(mutex_);
  return !why_.empty();
}

std::string PreemptionNotice::why() const {
  const Lock lock(mutex_);
  return why_;
}

void PreemptionNotice::Loop(const std::stop_token& stop) {
  do {
    if (!Look()) return;
  } while (WaitFor(every_, stop));
}

bool PreemptionNotice::Look() {
  const Result<std::optional<std::string>> preempted = ask_(kPreempted);
  if (!preempted.ok()) return true;  // it is asked again
  if (!*preempted) return false;
  if (**preempted == "TRUE") {
    Notice("the provider takes this machine (instance/preempted)");
    return false;
  }
  const Result<std::optional<std::string>> event = ask_(kMaintenance);
  // A machine that migrates goes on after some seconds.
  if (event.ok() && *event && **event == "TERMINATE_ON_HOST_MAINTENANCE") {
    Notice("the provider ends this machine for maintenance (instance/maintenance-event)");
    return false;
  }
  return true;
}

void PreemptionNotice::Notice(std::string why) {
  const Lock lock(mutex_);
  why_ = std::move(why);
}

}  // namespace pipeline
