// The host's services for one call into this plugin: plugins/plugin_abi.h with our types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "plugins/plugin_abi.h"
#include "plugins/train/host_storage.h"

namespace pipeline {

/// Valid until the called function returns. Safe from any thread, except Reply.
class HostCall {
 public:
  explicit HostCall(const pipe_call& call) : call_(call) {}

  bool stopped() const;
  void Log(Level level, std::string_view line) const;
  /// Ignores events that the host refuses, because events are only for people.
  void Emit(const Json& event) const;
  /// Sets the status line, and the share: `of` 0: unknown.
  void Progress(std::int64_t done, std::int64_t of, std::string_view text) const;
  void Reply(const Json& answer) const;
  /// Reports the reason and returns its code.
  pipe_code Fail(const Status& why) const;
  /// The stages `train` of a pipeline file, in the form of plugins/ABI.md, section 12; `set`: the values of
  /// --set. The host reports mistakes. kUnimplemented if the host cannot read pipeline files for plugins.
  Result<Json> Stages(const std::string& file, const Json& set) const;
  /// A value of the machine's metadata server, e.g. "instance/preempted", within 1 s. Absent: there is no
  /// such value or no server, or the host cannot ask.
  Result<std::optional<std::string>> Metadata(std::string_view path) const;
  /// The host's stores; valid as long as this object.
  HostStorage storage() const { return HostStorage(call_); }

 private:
  const pipe_call& call_;
};

}  // namespace pipeline
