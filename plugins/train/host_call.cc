#include "plugins/train/host_call.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

bool HostCall::stopped() const { return call_.stopped(call_.ctx) != 0; }

void HostCall::Log(Level level, std::string_view line) const {
  const std::int32_t said = level == Level::kInfo      ? PIPE_LOG_INFO
                            : level == Level::kWarning ? PIPE_LOG_WARNING
                                                       : PIPE_LOG_ERROR;
  call_.log(call_.ctx, said, TextOf(line));
}

void HostCall::Emit(const Json& event) const {
  const auto* const events = static_cast<const pipe_events_1*>(call_.extension(call_.ctx, PIPE_EVENTS_1));
  if (events != nullptr) events->emit(events->ctx, TextOf(event.Dump()));
}

Result<Json> HostCall::Stages(const std::string& file, const Json& set) const {
  const auto* const pipeline =
      static_cast<const pipe_pipeline_1*>(call_.extension(call_.ctx, PIPE_PIPELINE_1));
  if (pipeline == nullptr)
    return Status(Code::kUnimplemented,
                  "this program does not read pipeline files for a plugin; name the job.json of a run");
  Json request;
  request["file"] = file;
  request["set"] = set;
  std::string answer;
  const auto take = [](void* user, pipe_text json) { static_cast<std::string*>(user)->assign(ViewOf(json)); };
  const std::string asked = request.Dump();
  const pipe_code code = pipeline->read(pipeline->ctx, TextOf(asked), take, &answer);
  if (code != PIPE_OK)
    return Status(Code::kInvalidArgument, StrCat(file, ": cannot be read, or has mistakes"));
  ASSIGN_OR_RETURN(const Json stages, Json::Parse(answer));
  return stages["stages"];
}

void HostCall::Progress(std::int64_t done, std::int64_t of, std::string_view text) const {
  Json progress;
  progress["kind"] = "progress";
  progress["done"] = done;
  progress["of"] = of;
  progress["text"] = text;
  Emit(progress);
}

void HostCall::Reply(const Json& answer) const { call_.reply(call_.ctx, TextOf(answer.Dump())); }

pipe_code HostCall::Fail(const Status& why) const {
  if (why.code() != Code::kCancelled) call_.fail(call_.ctx, TextOf(why.message()));
  return static_cast<pipe_code>(why.code());
}

Result<std::optional<std::string>> HostCall::Metadata(std::string_view path) const {
  const std::optional<std::string> none;
  const auto* const metadata =
      static_cast<const pipe_metadata_1*>(call_.extension(call_.ctx, PIPE_METADATA_1));
  if (metadata == nullptr) return none;
  std::string value;
  const auto take = [](void* user, pipe_text text) { static_cast<std::string*>(user)->assign(ViewOf(text)); };
  const pipe_code code = metadata->read(metadata->ctx, TextOf(path), take, &value);
  if (code == PIPE_NOT_FOUND) return none;
  if (code != PIPE_OK)
    return Status(Code::kUnavailable, StrCat("the metadata server did not answer for ", path, " within 1 s"));
  return std::optional(std::move(value));
}

}  // namespace pipeline
