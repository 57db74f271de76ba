#include "cli/worker/given_unit.h"

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "base/machine.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/threads.h"
#include "cli/worker/opened_package.h"
#include "cli/worker/package_run.h"
#include "dag/books/unit_id.h"

namespace pipeline {

int RunGivenUnit(const WorkerOptions& options, const std::string& unit, SignalWatch& signals) {
  OpenedPackage opened;
  if (const int code = OpenPackage(options, opened, signals.token()); code != kExitDone) return code;
  StatusDisplay display(false);
  Result<std::unique_ptr<PackageRun>> run = PackageRun::Open(
      *opened.store, opened.plan, *opened.loaded, opened.scratch->path(), ThreadCount(options.threads),
      *opened.room.memory, display, NameOfProcess(), signals.token());
  if (!run.ok()) {
    LogError(run.status().message());
    return WorkerExitOf(run.status());
  }
  const SignalWatch::Finishing finishing(signals);
  if (signals.token().stop_requested()) return kExitTryAgain;
  const auto offered = std::find_if(opened.plan.units.begin(), opened.plan.units.end(),
                                    [&unit](const OfferedUnit& one) { return one.unit == unit; });
  if (offered != opened.plan.units.end()) {
    if (const std::string why = WhyUnfit(offered->needs, opened.room); !why.empty()) {
      LogError(WithUnit(why, unit));
      return kExitConfig;
    }
  }
  return (*run)->Run(unit, PackageRun::Others::kMayHaveBegun, signals.token()).code;
}

}  // namespace pipeline
