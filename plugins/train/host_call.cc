#include "plugins/train/host_call.h"

#include <array>
#include <vector>

#include "base/str.h"

namespace pipeline {

namespace {

static_assert(static_cast<int>(Code::kCancelled) == PIPE_CANCELLED);
static_assert(static_cast<int>(Code::kUnavailable) == PIPE_UNAVAILABLE);
static_assert(static_cast<int>(Code::kInternal) == PIPE_INTERNAL);

Code CodeOf(pipe_code code) {
  return code > PIPE_OK && code <= PIPE_INTERNAL ? static_cast<Code>(code) : Code::kInternal;
}

/// Closes the reader at the end of its scope.
struct OpenReader {
  const pipe_storage_1& storage;
  pipe_reader* reader = nullptr;
  ~OpenReader() {
    if (reader != nullptr) storage.close(reader);
  }
};

}  // namespace

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

void HostCall::Reply(const Json& answer) const { call_.reply(call_.ctx, TextOf(answer.Dump())); }

pipe_code HostCall::Fail(const Status& why) const {
  if (why.code() != Code::kCancelled) call_.fail(call_.ctx, TextOf(why.message()));
  return static_cast<pipe_code>(why.code());
}

Result<std::string> HostCall::ReadObject(const std::string& uri, std::uint64_t most) const {
  const auto* const storage = static_cast<const pipe_storage_1*>(call_.extension(call_.ctx, PIPE_STORAGE_1));
  if (storage == nullptr)
    return Status(Code::kUnimplemented, "this program offers no pipe.storage/1; take a newer one");
  OpenReader open{*storage};
  if (const pipe_code code = storage->open(storage->ctx, TextOf(uri), 0, &open.reader); code != PIPE_OK)
    return StorageFailure(*storage, code, uri);
  std::string bytes;
  std::vector<char> buffer(1 << 16);
  while (true) {
    std::size_t got = 0;
    const pipe_code code = storage->read(open.reader, buffer.data(), buffer.size(), &got);
    if (code != PIPE_OK) return StorageFailure(*storage, code, uri);
    if (got == 0) return bytes;
    bytes.append(buffer.data(), got);
    if (bytes.size() > most)
      return Status(Code::kDataLoss, StrCat(uri, ": larger than the ", most, " bytes that it may have"));
  }
}

Status HostCall::StorageFailure(const pipe_storage_1& storage, pipe_code code, std::string_view what) const {
  std::array<char, 2048> said = {};
  const std::size_t size = std::min(storage.last_error(storage.ctx, said.data(), said.size()), said.size());
  std::string message(said.data(), size);
  if (message.empty()) message = StrCat(what, ": cannot be read");
  return Status(CodeOf(code), std::move(message));
}

}  // namespace pipeline
