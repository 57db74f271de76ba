// Objects for plugins, by their URIs: an absolute path, file:///path or gs://bucket/object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "dag/records/stored_object.h"
#include "storage/store.h"

namespace pipeline {

/// How a call of a plugin uses the stores of the host. Functions get the full URI of an object.
struct StorageRules {
  std::function<Result<std::unique_ptr<Store>>(const std::string& uri)> open_store;
  /// The commit condition of an object; absent: the plugin's condition applies. Empty: for all objects.
  std::function<std::optional<Condition>(const std::string& uri)> condition = {};
  /// Called after a commit; `object` has the last part of the URI as its name.
  std::function<void(const std::string& uri, const StoredObject& object)> committed = {};
  /// Called before a small object is written by its version; if it fails, nothing is written. Empty: the
  /// caller holds no location.
  std::function<Status(const std::string& uri)> confirm = {};
  /// Called after an object was removed.
  std::function<void(const std::string& uri)> removed = {};
};

/// An object that is being read. One thread at a time.
struct OpenObject {
  std::unique_ptr<ByteFile> file;
  std::unique_ptr<ByteReader> reader;  // reads `file`
};

/// An object that is being written. One thread at a time. Destroyed without Commit, it never existed.
class PluginWriter {
 public:
  virtual ~PluginWriter() = default;
  virtual Status Append(std::string_view bytes) = 0;
  /// Makes the whole object visible and durable. No call may follow.
  virtual Status Commit() = 0;
};

/// Valid as long as the call. Safe from any thread. The functions are virtual because a plugin, which is a
/// library of its own, calls those of the program.
class PluginStorage {
 public:
  struct Object {
    std::string name;  // relative to the listed URI
    std::uint64_t bytes = 0;
  };
  struct Whole {
    std::string bytes;
    std::string version;  // changes with every write; never newer than the bytes
  };
  enum class Creation : std::uint8_t { kCreateOnly, kReplace };
  enum class AtStop : std::uint8_t { kEnds, kGoesOn };  // whether a stop of the run ends the writing

  PluginStorage(StorageRules rules, std::stop_token stop)
      : rules_(std::move(rules)), stop_(std::move(stop)) {}
  PluginStorage(const PluginStorage&) = delete;
  PluginStorage& operator=(const PluginStorage&) = delete;
  virtual ~PluginStorage() = default;

  /// kNotFound: there is no such object.
  virtual Result<std::uint64_t> Size(const std::string& uri) const;
  virtual Result<OpenObject> Open(const std::string& uri, std::uint64_t offset) const;
  virtual Result<std::unique_ptr<PluginWriter>> Create(const std::string& uri, Creation creation,
                                                       AtStop at_stop) const;
  /// All objects below `uri`, sorted by name, without the host's own.
  virtual Result<std::vector<Object>> List(const std::string& uri) const;
  /// Reads a small object of one version. A stop does not end it. Absent: it does not exist.
  /// kResourceExhausted: it has more than `most` bytes.
  virtual Result<std::optional<Whole>> ReadWhole(const std::string& uri, std::uint64_t most) const;
  /// Writes a small object if its version is `known`, or creates it if `known` is empty; returns the new
  /// version. kAlreadyExists, kFailedPrecondition: it has another version, or none; nothing changed.
  /// kCancelled: also if the run no longer holds the location.
  virtual Result<std::string> WriteWhole(const std::string& uri, std::string_view bytes,
                                         const std::string& known, AtStop at_stop) const;
  /// OK also if it does not exist.
  virtual Status Remove(const std::string& uri) const;

 private:
  const StorageRules rules_;
  const std::stop_token stop_;
};

}  // namespace pipeline
