// The host's side of one call into a plugin: offers services and collects the answer.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "plugins/native/services.h"
#include "plugins/plugin_abi.h"
#include "plugins/storage_extension.h"

namespace pipeline {

/// Exists for the duration of the call; closes handles that the plugin left open. Its functions are safe
/// from any thread.
class PluginCall {
 public:
  /// `services` outlives it.
  explicit PluginCall(const PluginServices& services);
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  const pipe_call* abi() const { return &abi_; }

  // Use these after the call, on the thread that made it: no other thread writes the texts then.

  /// OK, or the code with the best available reason.
  Status Outcome(pipe_code code) const NO_THREAD_SAFETY_ANALYSIS;
  /// The last reply; empty: none.
  const std::string& answer() const NO_THREAD_SAFETY_ANALYSIS { return answer_; }
  /// The argument of `fail`; empty: it was not called.
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
  static pipe_code ReadMetadata(void* self, pipe_text path, void (*take)(void* user, pipe_text value),
                                void* user);

  const PluginServices& services_;
  pipe_call abi_ = {};
  pipe_events_1 events_ = {};
  pipe_pipeline_1 pipeline_ = {};
  pipe_metadata_1 metadata_ = {};
  std::unique_ptr<StorageExtension> storage_;  // null: not offered

  Mutex mutex_;
  std::string answer_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
