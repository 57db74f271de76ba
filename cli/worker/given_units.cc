#include "cli/worker/given_units.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/live/status_display.h"
#include "cli/terminal/counted.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/threads.h"
#include "cli/worker/opened_package.h"
#include "cli/worker/package_run.h"
#include "dag/books/unit_id.h"

namespace pipeline {

int RunGivenUnits(const WorkerOptions& options, const GivenUnits& given, SignalWatch& signals) {
  OpenedPackage opened;
  if (const int code = OpenPackage(options, opened, signals.token()); code != kExitDone) return code;
  std::vector<OfferedUnit> units;
  if (!given.unit.empty()) {
    const std::string unit =
        given.unit.substr(0, given.unit.find('\t'));  // a line of units.txt names it first
    const auto found = std::find_if(opened.plan.units.begin(), opened.plan.units.end(),
                                    [&unit](const OfferedUnit& offered) { return offered.unit == unit; });
    units.push_back(found != opened.plan.units.end() ? *found : OfferedUnit{unit, {}});
  } else {
    const auto begin = static_cast<std::size_t>(given.index) * static_cast<std::size_t>(given.count);
    for (std::size_t at = begin;
         at < opened.plan.units.size() && at < begin + static_cast<std::size_t>(given.count); ++at)
      units.push_back(opened.plan.units[at]);
    if (units.empty())
      LogInfo(StrCat("the plan has ", Counted(opened.plan.units.size(), "unit"), ", none at --index ",
                     given.index));
  }
  StatusDisplay display(false);
  Result<std::unique_ptr<PackageRun>> run = PackageRun::Open(
      *opened.store, opened.plan, *opened.loaded, opened.scratch->path(), ThreadCount(options.threads),
      *opened.room.memory, display, NameOfWorker(), signals.token());
  if (!run.ok()) {
    LogError(run.status().message());
    return WorkerExitOf(run.status());
  }
  int code = kExitDone;
  const SignalWatch::Finishing finishing(signals);
  for (const OfferedUnit& unit : units) {
    if (signals.token().stop_requested()) return kExitTryAgain;
    if (const std::string why = WhyUnfit(unit.needs, opened.room); !why.empty()) {
      LogError(WithUnit(why, unit.unit));
      code = kExitConfig;
      continue;
    }
    const int ended = (*run)->Run(unit.unit, PackageRun::Others::kMayHaveBegun, signals.token()).code;
    if (ended != kExitDone) code = ended;
  }
  return code;
}

}  // namespace pipeline
