#include "plugins/storage_extension.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/location_log.h"
#include "plugins/plugin.h"
#include "plugins/text_view.h"
#include "stages/shards/measured_writer.h"
#include "storage/uri.h"

// The targets of the plugin's handles; plugin_abi.h declares them.
struct pipe_reader {
  pipeline::StorageExtension* owner = nullptr;
  std::unique_ptr<pipeline::ByteFile> file;
  std::unique_ptr<pipeline::ByteReader> reader;  // reads `file`
};
struct pipe_writer {
  pipeline::StorageExtension* owner = nullptr;
  std::string uri;
  bool after_stop = false;  // goes on when the run stops
  std::unique_ptr<pipeline::Store> store;
  std::unique_ptr<pipeline::MeasuredWriter> writer;  // writes to `store`
};

namespace pipeline {

namespace {

constexpr int kMostTries = 3;  // of an object that is replaced while it is read

StorageExtension& ExtensionOf(void* self) { return *static_cast<StorageExtension*>(self); }

Status Cancelled() { return Status(Code::kCancelled, "stopped"); }

}  // namespace

/// An object: its store and its name there.
struct StorageExtension::Location {
  std::unique_ptr<Store> store;
  std::string name;
};

StorageExtension::StorageExtension(const PluginServices& services) : services_(services) {
  abi_ = {sizeof abi_, 0,      this,    Stat, Open,          Read,   Close,     Create,
          Append,      Commit, Discard, List, CopyLastError, Remove, ReadWhole, WriteWhole};
}

StorageExtension::~StorageExtension() = default;

pipe_code StorageExtension::Failed(const Status& why) {
  const Lock lock(mutex_);
  errors_[std::this_thread::get_id()] = std::string(why.message());
  return static_cast<pipe_code>(why.code());
}

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

Result<StorageExtension::Location> StorageExtension::LocationOf(std::string_view text) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(text));
  if (uri.is_local() && !uri.path.starts_with('/'))
    return Status(Code::kInvalidArgument, StrCat(text, ": an object's URI is an absolute path or a URL"));
  const std::string_view name = uri.LastPart();
  if (name.empty()) return Status(Code::kInvalidArgument, StrCat(text, ": names no object"));
  Uri above = uri;
  above.path.resize(uri.path.size() - name.size());
  if (above.scheme->form == Scheme::Form::kBucket && !above.path.empty()) above.path.pop_back();
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, services_.open_store(above.ToString()));
  return Location{std::move(store), std::string(name)};
}

pipe_code StorageExtension::Stat(void* self, pipe_text uri, std::uint64_t* bytes) {
  StorageExtension& storage = ExtensionOf(self);
  const Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  const Result<std::optional<ObjectInfo>> info = location->store->Stat(location->name);
  if (!info.ok()) return storage.Failed(info.status());
  if (!info->has_value())
    return storage.Failed(Status(Code::kNotFound, StrCat(ViewOf(uri), ": there is no such object")));
  if (bytes != nullptr) *bytes = (*info)->size;
  return PIPE_OK;
}

pipe_code StorageExtension::Open(void* self, pipe_text uri, std::uint64_t offset, pipe_reader** reader) {
  StorageExtension& storage = ExtensionOf(self);
  const Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  auto made = std::make_unique<pipe_reader>();
  made->owner = &storage;
  Result<std::unique_ptr<ByteFile>> file = location->store->Open(location->name);
  if (!file.ok()) return storage.Failed(file.status());
  made->file = std::move(*file);
  Result<std::unique_ptr<ByteReader>> opened = made->file->Open(offset, storage.services_.stop);
  if (!opened.ok()) return storage.Failed(opened.status());
  made->reader = std::move(*opened);
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
  const Result<std::size_t> read = reader->reader->Read({static_cast<char*>(out), size});
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
  const bool after_stop = (condition & PIPE_AFTER_STOP) != 0;
  if (storage.services_.stop.stop_requested() && !after_stop) return storage.Failed(Cancelled());
  Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  auto made = std::make_unique<pipe_writer>();
  made->owner = &storage;
  made->uri = ViewOf(uri);
  made->after_stop = after_stop;
  made->store = std::move(location->store);
  std::optional<Condition> rule;
  if (storage.services_.condition) rule = storage.services_.condition(made->uri);
  const std::uint32_t asked = condition & ~std::uint32_t{PIPE_AFTER_STOP};
  if (!rule) rule = asked == PIPE_REPLACE ? Condition::ReplaceAny() : Condition::CreateOnly();
  Result<std::unique_ptr<MeasuredWriter>> created =
      MeasuredWriter::Create(*made->store, location->name, *rule);
  if (!created.ok()) return storage.Failed(created.status());
  made->writer = std::move(*created);
  const Lock lock(storage.mutex_);
  *writer = made.get();
  storage.writers_.emplace(made.get(), std::move(made));
  return PIPE_OK;
}

pipe_code StorageExtension::Append(pipe_writer* writer, const void* bytes, std::size_t size) {
  StorageExtension& storage = *writer->owner;
  if (storage.services_.stop.stop_requested() && !writer->after_stop) return storage.Failed(Cancelled());
  const Status appended = writer->writer->Append({static_cast<const char*>(bytes), size});
  return appended.ok() ? PIPE_OK : storage.Failed(appended);
}

pipe_code StorageExtension::Commit(pipe_writer* writer) {
  StorageExtension& storage = *writer->owner;
  const std::stop_token stop = writer->after_stop ? std::stop_token() : storage.services_.stop;
  const Result<StoredObject> committed = writer->writer->Commit(stop);
  const pipe_code code = committed.ok() ? PIPE_OK : storage.Failed(committed.status());
  if (committed.ok() && storage.services_.committed) storage.services_.committed(writer->uri, *committed);
  Discard(writer);
  return code;
}

void StorageExtension::Discard(pipe_writer* writer) {
  if (writer == nullptr) return;
  const Lock lock(writer->owner->mutex_);
  writer->owner->writers_.erase(writer);
}

pipe_code StorageExtension::Remove(void* self, pipe_text uri) {
  StorageExtension& storage = ExtensionOf(self);
  const Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  const Status removed = location->store->Remove(location->name);
  if (!removed.ok()) return storage.Failed(removed);
  if (storage.services_.removed) storage.services_.removed(std::string(ViewOf(uri)));
  return PIPE_OK;
}

pipe_code StorageExtension::ReadWhole(void* self, pipe_text uri, std::uint64_t most,
                                      void (*take)(void*, pipe_text, pipe_text), void* user) {
  StorageExtension& storage = ExtensionOf(self);
  const Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  for (int tries = 1;; ++tries) {
    // The version first: an object that is replaced meanwhile gets a version that a later write does not
    // find.
    const Result<std::optional<ObjectInfo>> info = location->store->Stat(location->name);
    if (!info.ok()) return storage.Failed(info.status());
    if (!*info)
      return storage.Failed(Status(Code::kNotFound, StrCat(ViewOf(uri), ": there is no such object")));
    const Result<std::string> bytes = ReadObject(*location->store, location->name, most, std::stop_token());
    // Another host may replace it between two requests.
    if (bytes.status().code() == Code::kDataLoss && tries < kMostTries) continue;
    if (!bytes.ok()) return storage.Failed(bytes.status());
    take(user, {bytes->data(), bytes->size()}, {(*info)->version.data(), (*info)->version.size()});
    return PIPE_OK;
  }
}

pipe_code StorageExtension::WriteWhole(void* self, pipe_text uri, pipe_text bytes, pipe_text known,
                                       std::uint32_t flags, void (*take)(void*, pipe_text), void* user) {
  StorageExtension& storage = ExtensionOf(self);
  const bool after_stop = (flags & PIPE_AFTER_STOP) != 0;
  if (storage.services_.stop.stop_requested() && !after_stop) return storage.Failed(Cancelled());
  const Result<Location> location = storage.LocationOf(ViewOf(uri));
  if (!location.ok()) return storage.Failed(location.status());
  if (storage.services_.confirm)
    if (const Status held = storage.services_.confirm(std::string(ViewOf(uri))); !held.ok())
      return storage.Failed(Status(Code::kCancelled, std::string(held.message())));
  const std::string_view version = ViewOf(known);
  const Condition condition =
      version.empty() ? Condition::CreateOnly() : Condition::Replace(std::string(version));
  const Result<ObjectInfo> written = WriteObject(*location->store, location->name, ViewOf(bytes), condition,
                                                 after_stop ? std::stop_token() : storage.services_.stop);
  if (!written.ok()) return storage.Failed(written.status());
  take(user, {written->version.data(), written->version.size()});
  return PIPE_OK;
}

pipe_code StorageExtension::List(void* self, pipe_text uri,
                                 std::int32_t (*visit)(void*, pipe_text, std::uint64_t), void* user) {
  StorageExtension& storage = ExtensionOf(self);
  const std::string location(ViewOf(uri));
  const Result<std::unique_ptr<Store>> store = storage.services_.open_store(location);
  if (!store.ok()) return storage.Failed(store.status());
  const Result<std::vector<ObjectInfo>> objects = (*store)->List("");
  if (!objects.ok()) return storage.Failed(objects.status());
  for (const ObjectInfo& object : *objects)
    if (!object.name.starts_with(kOwnPrefix) &&
        visit(user, {object.name.data(), object.name.size()}, object.size) != 0)
      break;
  return PIPE_OK;
}

}  // namespace pipeline
