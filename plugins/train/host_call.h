// What the program does for one call into this plugin: plugins/plugin_abi.h with the types of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "plugins/plugin_abi.h"

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
  /// An object of at most `most` bytes, through pipe.storage/1. kNotFound: there is none.
  Result<std::string> ReadObject(const std::string& uri, std::uint64_t most) const;

 private:
  Status StorageFailure(const pipe_storage_1& storage, pipe_code code, std::string_view what) const;

  const pipe_call& call_;
};

inline pipe_text TextOf(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ViewOf(pipe_text text) {
  return text.size == 0 || text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

}  // namespace pipeline
