#include "plugins/train/hosts/host_timing.h"

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

Result<HostTiming> TimingFor(std::chrono::minutes hosts_wait, const std::optional<std::string>& factor) {
  HostTiming timing;
  timing.hosts_wait = hosts_wait;
  if (!factor) return timing;
  const auto number = ParseNumber<double>(*factor);
  if (!number || !(*number >= 0.01 && *number <= 1))
    return Status(Code::kInvalidArgument,
                  StrCat("PIPE_TEST_HOST_TIMES: \"", *factor, "\" is no number from 0.01 to 1"));
  for (HostTiming::Time* const time :
       {&timing.renew, &timing.own_limit, &timing.given_up, &timing.poll, &timing.decide, &timing.save,
        &timing.start_limit, &timing.hosts_wait, &timing.first_backoff, &timing.longest_backoff})
    *time = HostTiming::Time(static_cast<std::int64_t>(static_cast<double>(time->count()) * *number));
  return timing;
}

}  // namespace pipeline
