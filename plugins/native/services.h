// The host's services for one call into a plugin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"

namespace pipeline {

class PluginStorage;

/// They outlive the call. Their functions are called from any thread.
struct PluginServices {
  std::function<void(Level level, std::string_view line)> log;
  /// Receives an event (plugins/ABI.md, section 8).
  std::function<void(const Json& event)> event = [](const Json&) {};
  /// The host's stores; null: this call has none.
  const PluginStorage* storage = nullptr;
  /// The stages of the plugin in a pipeline file: plugins/ABI.md, section 12. The host shows the mistakes of
  /// the file. Empty: this call reads no pipeline file.
  std::function<Result<Json>(const Json& request)> pipeline = {};
  /// A value of the machine's metadata server, such as "instance/preempted", within 1 s; absent: there is no
  /// such value, or no server. Empty: the host does not ask.
  std::function<Result<std::optional<std::string>>(std::string_view path)> metadata = {};
  /// JobRequest::withdraw and JobRequest::forced. Empty: nothing is to be withdrawn.
  std::function<Status()> withdraw = {};
  bool forced = false;
  std::stop_token stop = {};

  Status Withdraw() const { return withdraw ? withdraw() : Status(); }
  bool stopped() const { return stop.stop_requested(); }

  /// The value of `metadata`; absent also where the host does not ask.
  Result<std::optional<std::string>> Metadata(std::string_view path) const {
    return metadata ? metadata(path) : Result(std::optional<std::string>());
  }

  /// Sets the status line, and the share. `of` 0: the share is unknown.
  void Progress(std::int64_t done, std::int64_t of, std::string_view text) const {
    event(Json::Object{{"kind", "progress"}, {"done", done}, {"of", of}, {"text", text}});
  }
};

}  // namespace pipeline
