#include "cli/tpu/slice_cloud.h"

#include "base/enumeration.h"
#include "base/str.h"

namespace pipeline {

std::string MachineName(std::string_view slice, std::string_view attempt) {
  return StrCat("pipe-", slice, "-", attempt);
}

bool HasOurMarks(const SliceView& view) {
  for (const char* label : {kSliceLabel, kAttemptLabel, kKeyLabel, kSecondsLabel})
    if (!view.labels.contains(label)) return false;
  const std::string name = MachineName(view.labels.at(kSliceLabel), view.labels.at(kAttemptLabel));
  return view.name == name || view.name.starts_with(name + "-");
}

Status ZonesLeftOut(const std::vector<std::string>& zones) {
  if (zones.empty()) return {};
  return Status(Code::kUnavailable, StrCat("these zones did not answer, and may have machines: ",
                                           Join(zones, ", "), "; give the command again"));
}

}  // namespace pipeline
