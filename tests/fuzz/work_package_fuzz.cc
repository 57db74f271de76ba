// Any bytes as a plan, a record, the end of a run, failed attempts or a history: one that is understood comes
// back from its own encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "dag/package/work_history.h"
#include "dag/package/work_package.h"
#include "dag/package/work_results.h"

using namespace pipeline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<WorkPackage> plan = ParseWorkPackage(text); plan.ok()) {
    const Result<WorkPackage> again = ParseWorkPackage(EncodeWorkPackage(*plan));
    if (!again.ok() || !(*again == *plan)) std::abort();
  }
  const std::string unit = "text/0000-00000";
  if (const Result<UnitRecord> record = ParseUnitRecord(text, unit); record.ok()) {
    const Result<UnitRecord> again = ParseUnitRecord(EncodeUnitRecord(*record), unit);
    if (!again.ok() || EncodeUnitRecord(*again) != EncodeUnitRecord(*record)) std::abort();
  }
  if (const Result<RunEnd> end = ParseVersioned<RunEnd>(text); end.ok()) {
    const Result<RunEnd> again = ParseVersioned<RunEnd>(EncodeVersioned(*end));
    if (!again.ok() || !(*again == *end)) std::abort();
  }
  if (const Result<UnitAttempts> attempts = ParseVersioned<UnitAttempts>(text); attempts.ok()) {
    const Result<UnitAttempts> again = ParseVersioned<UnitAttempts>(EncodeVersioned(*attempts));
    if (!again.ok() || !(*again == *attempts)) std::abort();
  }
  if (const Result<Submission> submission = ParseVersioned<Submission>(text); submission.ok()) {
    const Result<Submission> again = ParseVersioned<Submission>(EncodeVersioned(*submission));
    if (!again.ok() || !(*again == *submission)) std::abort();
  }
  if (const Result<WorkHistory> history = ParseWorkHistory(text); history.ok()) {
    const Result<WorkHistory> again = ParseWorkHistory(EncodeWorkHistory(*history));
    if (!again.ok() || !(*again == *history)) std::abort();
    const double share = Utilisation(Summarise(*history).hosts);
    if (!(share >= 0 && share <= 1)) std::abort();
  }
  return 0;
}
