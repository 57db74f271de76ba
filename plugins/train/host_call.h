// What the program does for one call into this plugin: plugins/plugin_abi.h with the types of ours.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "plugins/plugin_abi.h"
#include "plugins/train/host_storage.h"

namespace pipeline {

/// Valid until the called function returns. Safe from any thread, but for Reply.
class HostCall {
 public:
  explicit HostCall(const pipe_call& call) : call_(call) {}

  bool stopped() const;
  void Log(Level level, std::string_view line) const;
  /// Passes over what the host does not take: events are for people.
  void Emit(const Json& event) const;
  void Reply(const Json& answer) const;
  /// Says why, and gives the code for it.
  pipe_code Fail(const Status& why) const;
  /// The stages `train` of a pipeline file, as plugins/ABI.md, section 12, has them; `set` as --set has it.
  /// The host tells mistakes. kUnimplemented where it cannot read one for a plugin.
  Result<Json> Stages(const std::string& file, const Json& set) const;
  /// The host's stores; valid as long as this.
  HostStorage storage() const { return HostStorage(call_); }

 private:
  const pipe_call& call_;
};

}  // namespace pipeline
