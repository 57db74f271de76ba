#include "cli/terminal/process_tree.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/child_ledger.h"
#include "base/clock.h"
#include "base/process_use.h"

namespace pipeline {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kPeriod = std::chrono::milliseconds(250);
constexpr int kTimesItsCost = 100;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// All zero: the system does not tell.
rusage UsageOf(int who) {
  rusage usage{};
  return getrusage(who, &usage) == 0 ? usage : rusage{};
}

double CpuOf(int who) {
  const rusage usage = UsageOf(who);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

/// 0: the system does not tell.
std::uint64_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long whole = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &whole, &resident);
  std::fclose(file);
  return read == 2 ? std::uint64_t{resident} * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

/// Returns the child of this process from which `process` descends, or whose group it is in. 0: there is
/// none.
pid_t RootOf(const ProcessLook& process, const std::map<pid_t, const ProcessLook*>& all, pid_t self) {
  const ProcessLook* at = &process;
  for (int steps = 0; steps < 100; ++steps) {
    if (at->parent == self) return at->id;
    const auto parent = all.find(at->parent);
    if (parent == all.end() || parent->second == at) break;
    at = parent->second;
  }
  // A process whose parent ended has another parent now, but is still in its group.
  const auto leader = all.find(process.group);
  return leader != all.end() && leader->second->parent == self ? process.group : 0;
}

}  // namespace

std::uint64_t ProcessTree::PeakOfOne() {
  const long kibibytes = std::max(UsageOf(RUSAGE_SELF).ru_maxrss, UsageOf(RUSAGE_CHILDREN).ru_maxrss);
  return static_cast<std::uint64_t>(kibibytes) << 10;
}

const TreeUse& ProcessTree::Look(bool fresh) {
  const nanoseconds now = SystemClock().Monotonic();
  if (fresh || now >= next_) {
    // A child that is waited for between the two calls would count in neither sum, or in both.
    for (int tries = 0; tries < 4; ++tries) {
      waited_for_ = CpuOf(RUSAGE_CHILDREN);
      LookAtChildren();
      if (CpuOf(RUSAGE_CHILDREN) == waited_for_) break;
    }
    next_ = now + std::max(kPeriod, kTimesItsCost * (SystemClock().Monotonic() - now));
  }
  // If a process is killed together with its parent, no sum of the kernel has its time any more; and the
  // clocks of living processes are coarser. The sums here must never decrease, so the largest one counts.
  use_.child_cpu = std::max(use_.child_cpu, waited_for_ + living_cpu_);
  use_.cpu = std::max(use_.cpu, CpuOf(RUSAGE_SELF) + use_.child_cpu);
  use_.resident = ResidentBytes() + use_.child_resident;
  return use_;
}

void ProcessTree::LookAtChildren() {
  use_.own.clear();
  use_.child_resident = 0;
  living_cpu_ = 0;
  std::uint64_t to_disk = BytesOfProcess(0).to_disk;
  const std::vector<ProcessLook> processes = LookAtProcesses();
  std::map<pid_t, const ProcessLook*> all;
  for (const ProcessLook& process : processes) all.emplace(process.id, &process);
  const std::map<pid_t, std::string> owners = ChildLedger::Get().Living();
  for (const ProcessLook& process : processes) {
    const pid_t root = RootOf(process, all, getpid());
    if (root == 0) continue;
    living_cpu_ += process.cpu;
    to_disk += BytesOfProcess(process.id).to_disk;
    use_.child_resident += process.resident;
    const auto owner = owners.find(root);
    if (owner == owners.end() || owner->second.empty()) continue;
    OwnedUse& own = use_.own[owner->second];
    own.cpu += process.cpu;
    own.resident += process.resident;
  }
  use_.to_disk = std::max(use_.to_disk, to_disk);
}

}  // namespace pipeline
