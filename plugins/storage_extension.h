// `pipe.storage/1`: gives a plugin access to the host's stores. Rules: plugins/ABI.md, section 9.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/mutex.h"
#include "base/status.h"
#include "plugins/native/storage.h"
#include "plugins/plugin_abi.h"

namespace pipeline {

/// A text that a plugin gives; valid as long as its bytes.
inline std::string_view ViewOf(pipe_text text) {
  return text.size == 0 || text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

/// For one call into a plugin; closes readers and writers that are still open at its end.
class StorageExtension {
 public:
  /// `storage` outlives it.
  explicit StorageExtension(const PluginStorage& storage);
  ~StorageExtension();
  StorageExtension(const StorageExtension&) = delete;
  StorageExtension& operator=(const StorageExtension&) = delete;

  const pipe_storage_1* abi() const { return &abi_; }
  /// The last failure on the calling thread; empty: none.
  std::string LastError();

 private:
  static pipe_code Stat(void* self, pipe_text uri, std::uint64_t* bytes);
  static pipe_code Open(void* self, pipe_text uri, std::uint64_t offset, pipe_reader** reader);
  static pipe_code Read(pipe_reader* reader, void* out, std::size_t size, std::size_t* got);
  static void Close(pipe_reader* reader);
  static pipe_code Create(void* self, pipe_text uri, std::uint32_t condition, pipe_writer** writer);
  static pipe_code Append(pipe_writer* writer, const void* bytes, std::size_t size);
  static pipe_code Commit(pipe_writer* writer);
  static void Discard(pipe_writer* writer);
  static pipe_code List(void* self, pipe_text uri, std::int32_t (*visit)(void*, pipe_text, std::uint64_t),
                        void* user);
  static pipe_code Remove(void* self, pipe_text uri);
  static pipe_code ReadWhole(void* self, pipe_text uri, std::uint64_t most,
                             void (*take)(void*, pipe_text, pipe_text), void* user);
  static pipe_code WriteWhole(void* self, pipe_text uri, pipe_text bytes, pipe_text known,
                              std::uint32_t flags, void (*take)(void*, pipe_text), void* user);
  static std::size_t CopyLastError(void* self, char* out, std::size_t size);

  /// Stores the message for the calling thread and returns its code.
  pipe_code Failed(const Status& why);
  /// The same; PIPE_OK if it is OK.
  pipe_code CodeOf(const Status& status);

  const PluginStorage& storage_;
  pipe_storage_1 abi_ = {};

  Mutex mutex_;
  std::map<std::thread::id, std::string> errors_;
  std::unordered_map<pipe_reader*, std::unique_ptr<pipe_reader>> readers_ GUARDED_BY(mutex_);
  std::unordered_map<pipe_writer*, std::unique_ptr<pipe_writer>> writers_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
