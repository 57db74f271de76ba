#include "dag/pipeline_file/reason.h"

namespace pipeline {

const Reason* FindReason(const std::vector<Reason>& reasons, std::string_view name) {
  for (const Reason& reason : reasons) {
    const std::string_view known = reason.name;
    if (known == name || (known.ends_with('*') && name.starts_with(known.substr(0, known.size() - 1))))
      return &reason;
  }
  return nullptr;
}

std::uint64_t RecordsTaken(const std::vector<Reason>& reasons, const StageCounts& counts) {
  std::uint64_t others = 0;
  for (const auto& [name, count] : counts.reasons)
    if (const Reason* reason = FindReason(reasons, name); reason && reason->fate == Reason::Fate::kNotMeant)
      others += count;
  return counts.records_in > others ? counts.records_in - others : 0;
}

double RecordsCounted(const std::vector<Reason>& reasons, const StageCounts& counts, const Reason& reason) {
  const auto counted = counts.reasons.find(reason.name);
  if (counted == counts.reasons.end()) return 0;
  const auto count = static_cast<double>(counted->second);
  if (reason.of != Reason::Of::kLookedAt || counts.records_in == 0) return count;
  return count * static_cast<double>(RecordsTaken(reasons, counts)) / static_cast<double>(counts.records_in);
}

double RecordsDropped(const std::vector<Reason>& reasons, const StageCounts& counts) {
  double dropped = 0;
  for (const Reason& reason : reasons)
    if (reason.fate == Reason::Fate::kDropped) dropped += RecordsCounted(reasons, counts, reason);
  return dropped;
}

std::string_view UndeclaredReason(const std::vector<Reason>& reasons, const StageCounts& counts) {
  for (const auto& [name, count] : counts.reasons)
    if (FindReason(reasons, name) == nullptr) return name;
  return {};
}

}  // namespace pipeline
