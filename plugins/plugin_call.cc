#include "plugins/plugin_call.h"

#include <string_view>

#include "base/json.h"
#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kLongestMessage = 4 << 10;
constexpr std::size_t kLongestEvent = 64 << 10;

static_assert(static_cast<int>(Code::kCancelled) == PIPE_CANCELLED);
static_assert(static_cast<int>(Code::kDataLoss) == PIPE_DATA_LOSS);
static_assert(static_cast<int>(Code::kInternal) == PIPE_INTERNAL);

Code CodeOf(pipe_code code) {
  return code > PIPE_OK && code <= PIPE_INTERNAL ? static_cast<Code>(code) : Code::kInternal;
}

PluginCall& CallOf(void* self) { return *static_cast<PluginCall*>(self); }

bool IsEvent(const Json& json) {
  const std::string_view kind = json["kind"].AsString();
  return !kind.empty() &&
         kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

}  // namespace

PluginCall::PluginCall(const PluginServices& services) : services_(services) {
  abi_ = {sizeof abi_, PIPE_ABI_MINOR, this, Stopped, Reply, Fail, WriteLog, Extension};
  events_ = {sizeof events_, 0, this, Emit};
  pipeline_ = {sizeof pipeline_, 0, this, ReadPipeline};
  metadata_ = {sizeof metadata_, 0, this, ReadMetadata};
  if (services.storage != nullptr) storage_ = std::make_unique<StorageExtension>(*services.storage);
}

Status PluginCall::Outcome(pipe_code code) const {
  if (code == PIPE_OK) return {};
  if (code == PIPE_CANCELLED) return Status(Code::kCancelled, "stopped");
  if (!failure_.empty()) return Status(CodeOf(code), failure_);
  const std::string storage = storage_ ? storage_->LastError() : std::string();
  if (!storage.empty()) return Status(CodeOf(code), storage);
  return Status(CodeOf(code), StrCat("failed without a message (", CodeName(CodeOf(code)), ")"));
}

std::int32_t PluginCall::Stopped(void* self) { return CallOf(self).services_.stop.stop_requested() ? 1 : 0; }

void PluginCall::Reply(void* self, pipe_text json) {
  const Lock lock(CallOf(self).mutex_);
  CallOf(self).answer_ = ViewOf(json);
}

void PluginCall::Fail(void* self, pipe_text message) {
  const Lock lock(CallOf(self).mutex_);
  if (CallOf(self).failure_.empty()) CallOf(self).failure_ = ViewOf(message).substr(0, kLongestMessage);
}

void PluginCall::WriteLog(void* self, std::int32_t level, pipe_text line) {
  const Level known = level == PIPE_LOG_INFO      ? Level::kInfo
                      : level == PIPE_LOG_WARNING ? Level::kWarning
                                                  : Level::kError;
  if (CallOf(self).services_.log) CallOf(self).services_.log(known, ViewOf(line).substr(0, kLongestMessage));
}

const void* PluginCall::Extension(void* self, const char* id) {
  const std::string_view wanted = id != nullptr ? id : "";
  if (wanted == PIPE_EVENTS_1) return &CallOf(self).events_;
  if (wanted == PIPE_PIPELINE_1 && CallOf(self).services_.pipeline) return &CallOf(self).pipeline_;
  if (wanted == PIPE_METADATA_1 && CallOf(self).services_.metadata) return &CallOf(self).metadata_;
  if (wanted == PIPE_STORAGE_1 && CallOf(self).storage_) return CallOf(self).storage_->abi();
  return nullptr;
}

pipe_code PluginCall::Emit(void* self, pipe_text text) {
  if (text.size > kLongestEvent) return PIPE_INVALID_ARGUMENT;
  const Result<Json> json = Json::Parse(ViewOf(text));
  if (!json.ok() || !IsEvent(*json)) return PIPE_INVALID_ARGUMENT;
  CallOf(self).services_.event(*json);
  return PIPE_OK;
}

pipe_code PluginCall::ReadPipeline(void* self, pipe_text request, void (*take)(void* user, pipe_text json),
                                   void* user) {
  const Result<Json> asked = Json::Parse(ViewOf(request));
  if (!asked.ok() || take == nullptr) return PIPE_INVALID_ARGUMENT;
  const Result<Json> stages = CallOf(self).services_.pipeline(*asked);
  if (!stages.ok()) return static_cast<pipe_code>(stages.status().code());
  const std::string text = stages->Dump();
  take(user, {text.data(), text.size()});
  return PIPE_OK;
}

pipe_code PluginCall::ReadMetadata(void* self, pipe_text path, void (*take)(void* user, pipe_text value),
                                   void* user) {
  if (take == nullptr) return PIPE_INVALID_ARGUMENT;
  const Result<std::optional<std::string>> value = CallOf(self).services_.metadata(ViewOf(path));
  if (!value.ok()) return static_cast<pipe_code>(value.status().code());
  if (!*value) return PIPE_NOT_FOUND;
  take(user, {(*value)->data(), (*value)->size()});
  return PIPE_OK;
}

}  // namespace pipeline
