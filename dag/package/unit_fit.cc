#include "dag/package/unit_fit.h"

#include "base/str.h"

namespace pipeline {

std::string WhyUnfit(const UnitNeeds& needs, const WorkerRoom& room) {
  if (needs.memory && room.memory && *needs.memory > *room.memory)
    return StrCat("needs ", HumanBytes(*needs.memory), " of memory, and this worker has ",
                  HumanBytes(*room.memory), " (", room.memory_by, ")");
  if (needs.cores && room.cores && *needs.cores > *room.cores)
    return StrCat("needs ", *needs.cores, " cores, and this worker has ", *room.cores);
  if (needs.scratch && room.scratch && *needs.scratch > *room.scratch)
    return StrCat("needs ", HumanBytes(*needs.scratch), " of scratch, and this worker has ",
                  HumanBytes(*room.scratch), " (", room.scratch_in, ")");
  return {};
}

}  // namespace pipeline
