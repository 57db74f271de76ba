#include "plugins/storage_extension.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/str.h"

// The targets of the plugin's handles; plugin_abi.h declares them.
struct pipe_reader {
  pipeline::StorageExtension* owner = nullptr;
  pipeline::OpenObject object;
};
struct pipe_writer {
  pipeline::StorageExtension* owner = nullptr;
  std::unique_ptr<pipeline::PluginWriter> writer;
};

namespace pipeline {

namespace {

StorageExtension& ExtensionOf(void* self) { return *static_cast<StorageExtension*>(self); }

std::string TextIn(pipe_text text) { return std::string(ViewOf(text)); }

PluginStorage::AtStop AtStopOf(std::uint32_t flags) {
  return (flags & PIPE_AFTER_STOP) != 0 ? PluginStorage::AtStop::kGoesOn : PluginStorage::AtStop::kEnds;
}

}  // namespace

StorageExtension::StorageExtension(const PluginStorage& storage) : storage_(storage) {
  abi_ = {sizeof abi_, 0,      this,    Stat, Open,          Read,   Close,     Create,
          Append,      Commit, Discard, List, CopyLastError, Remove, ReadWhole, WriteWhole};
}

StorageExtension::~StorageExtension() = default;

pipe_code StorageExtension::Failed(const Status& why) {
  const Lock lock(mutex_);
  errors_[std::this_thread::get_id()] = std::string(why.message());
  return static_cast<pipe_code>(why.code());
}

pipe_code StorageExtension::CodeOf(const Status& status) { return status.ok() ? PIPE_OK : Failed(status); }

std::string StorageExtension::LastError() {
  const Lock lock(mutex_);
  const auto found = errors_.find(std::this_thread::get_id());
  return found != errors_.end() ? found->second : std::string();
}

std::size_t StorageExtension::CopyLastError(void* self, char* out, std::size_t size) {
  const std::string error = ExtensionOf(self).LastError();
  if (out != nullptr && size > 0) std::memcpy(out, error.data(), std::min(size, error.size()));
  return error.size();
}

pipe_code StorageExtension::Stat(void* self, pipe_text uri, std::uint64_t* bytes) {
  const Result<std::uint64_t> size = ExtensionOf(self).storage_.Size(TextIn(uri));
  if (size.ok() && bytes != nullptr) *bytes = *size;
  return ExtensionOf(self).CodeOf(size.status());
}

pipe_code StorageExtension::Open(void* self, pipe_text uri, std::uint64_t offset, pipe_reader** reader) {
  StorageExtension& storage = ExtensionOf(self);
  Result<OpenObject> object = storage.storage_.Open(TextIn(uri), offset);
  if (!object.ok()) return storage.Failed(object.status());
  auto made = std::make_unique<pipe_reader>(pipe_reader{&storage, std::move(*object)});
  const Lock lock(storage.mutex_);
  *reader = made.get();
  storage.readers_.emplace(made.get(), std::move(made));
  return PIPE_OK;
}

pipe_code StorageExtension::Read(pipe_reader* reader, void* out, std::size_t size, std::size_t* got) {
  *got = 0;
  if (size == 0)
    return reader->owner->Failed(
        Status(Code::kInvalidArgument, "a read of no bytes cannot be told from the end"));
  const Result<std::size_t> read = reader->object.reader->Read({static_cast<char*>(out), size});
  if (!read.ok()) return reader->owner->Failed(read.status());
  *got = *read;
  return PIPE_OK;
}

void StorageExtension::Close(pipe_reader* reader) {
  if (reader == nullptr) return;
  const Lock lock(reader->owner->mutex_);
  reader->owner->readers_.erase(reader);
}

pipe_code StorageExtension::Create(void* self, pipe_text uri, std::uint32_t condition, pipe_writer** writer) {
  StorageExtension& storage = ExtensionOf(self);
  const std::uint32_t asked = condition & ~std::uint32_t{PIPE_AFTER_STOP};
  Result<std::unique_ptr<PluginWriter>> created = storage.storage_.Create(
      TextIn(uri),
      asked == PIPE_REPLACE ? PluginStorage::Creation::kReplace : PluginStorage::Creation::kCreateOnly,
      AtStopOf(condition));
  if (!created.ok()) return storage.Failed(created.status());
  auto made = std::make_unique<pipe_writer>(pipe_writer{&storage, std::move(*created)});
  const Lock lock(storage.mutex_);
  *writer = made.get();
  storage.writers_.emplace(made.get(), std::move(made));
  return PIPE_OK;
}

pipe_code StorageExtension::Append(pipe_writer* writer, const void* bytes, std::size_t size) {
  return writer->owner->CodeOf(writer->writer->Append({static_cast<const char*>(bytes), size}));
}

pipe_code StorageExtension::Commit(pipe_writer* writer) {
  const pipe_code code = writer->owner->CodeOf(writer->writer->Commit());
  Discard(writer);
  return code;
}

void StorageExtension::Discard(pipe_writer* writer) {
  if (writer == nullptr) return;
  const Lock lock(writer->owner->mutex_);
  writer->owner->writers_.erase(writer);
}

pipe_code StorageExtension::Remove(void* self, pipe_text uri) {
  return ExtensionOf(self).CodeOf(ExtensionOf(self).storage_.Remove(TextIn(uri)));
}

pipe_code StorageExtension::ReadWhole(void* self, pipe_text uri, std::uint64_t most,
                                      void (*take)(void*, pipe_text, pipe_text), void* user) {
  StorageExtension& storage = ExtensionOf(self);
  const Result<std::optional<PluginStorage::Whole>> whole = storage.storage_.ReadWhole(TextIn(uri), most);
  if (!whole.ok()) return storage.Failed(whole.status());
  if (!*whole)
    return storage.Failed(Status(Code::kNotFound, StrCat(ViewOf(uri), ": there is no such object")));
  const auto& [bytes, version] = **whole;
  take(user, {bytes.data(), bytes.size()}, {version.data(), version.size()});
  return PIPE_OK;
}

pipe_code StorageExtension::WriteWhole(void* self, pipe_text uri, pipe_text bytes, pipe_text known,
                                       std::uint32_t flags, void (*take)(void*, pipe_text), void* user) {
  const Result<std::string> version =
      ExtensionOf(self).storage_.WriteWhole(TextIn(uri), ViewOf(bytes), TextIn(known), AtStopOf(flags));
  if (version.ok()) take(user, {version->data(), version->size()});
  return ExtensionOf(self).CodeOf(version.status());
}

pipe_code StorageExtension::List(void* self, pipe_text uri,
                                 std::int32_t (*visit)(void*, pipe_text, std::uint64_t), void* user) {
  const Result<std::vector<PluginStorage::Object>> objects = ExtensionOf(self).storage_.List(TextIn(uri));
  if (!objects.ok()) return ExtensionOf(self).Failed(objects.status());
  for (const PluginStorage::Object& object : *objects)
    if (visit(user, {object.name.data(), object.name.size()}, object.bytes) != 0) break;
  return PIPE_OK;
}

}  // namespace pipeline
