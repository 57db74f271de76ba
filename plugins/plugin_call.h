// The host's side of one call into a plugin: what it may ask, and what it said.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "plugins/plugin.h"
#include "plugins/plugin_abi.h"
#include "plugins/storage_extension.h"

namespace pipeline {

/// Lives around the call; what the plugin left open is closed with it. Its functions are safe from any
/// thread.
class PluginCall {
 public:
  /// `services` outlives it.
  explicit PluginCall(const PluginServices& services);
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  const pipe_call* abi() const { return &abi_; }

  // After the call, from the thread that made it: nothing writes the texts any more.

  /// OK, or the code with the best reason there is.
  Status Outcome(pipe_code code) const NO_THREAD_SAFETY_ANALYSIS;
  /// The last reply; empty where there was none.
  const std::string& answer() const NO_THREAD_SAFETY_ANALYSIS { return answer_; }
  /// What `fail` was given; empty where it was not called.
  const std::string& failure() const NO_THREAD_SAFETY_ANALYSIS { return failure_; }

 private:
  static std::int32_t Stopped(void* self);
  static void Reply(void* self, pipe_text json);
  static void Fail(void* self, pipe_text message);
  static void WriteLog(void* self, std::int32_t level, pipe_text line);
  static const void* Extension(void* self, const char* id);
  static pipe_code Emit(void* self, pipe_text json);
  static pipe_code ReadPipeline(void* self, pipe_text request, void (*take)(void* user, pipe_text json),
                                void* user);

  const PluginServices& services_;
  pipe_call abi_ = {};
  pipe_events_1 events_ = {};
  pipe_pipeline_1 pipeline_ = {};
  std::unique_ptr<StorageExtension> storage_;  // null where there is none

  Mutex mutex_;
  std::string answer_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
