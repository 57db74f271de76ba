#include "cli/terminal/kill_switch.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/commit_point.h"
#include "base/str.h"

namespace pipeline {

Status InstallKillSwitch() {
  const char* value = std::getenv("PIPE_KILL_AT");
  if (value == nullptr) return {};
  const std::string_view text = value;
  const std::size_t colon = text.find(':');
  const std::string_view point = text.substr(0, colon);
  std::uint64_t passages = 1;
  if (colon != std::string_view::npos)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), passages);
  if (std::find(std::begin(kCommitPoints), std::end(kCommitPoints), point) == std::end(kCommitPoints))
    return Status(Code::kInvalidArgument, StrCat("PIPE_KILL_AT: no commit point is called '", point, "'"));
  auto left = std::make_shared<std::atomic<std::uint64_t>>(passages);
  SetCommitPointHook([left, name = std::string(point)](std::string_view passed) {
    if (passed == name && left->fetch_sub(1) == 1) raise(SIGKILL);
  });
  return {};
}

}  // namespace pipeline
