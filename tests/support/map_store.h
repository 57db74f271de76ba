// A Store in a map, for tests that look at objects and damage them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/store.h"

namespace pipeline {

class StringFile : public ByteFile {
 public:
  explicit StringFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(*this, offset, std::move(stop)));
  }

 private:
  class Reader : public ByteReader {
   public:
    Reader(const StringFile& file, std::uint64_t offset, std::stop_token stop)
        : rest_(file.bytes_), stop_(std::move(stop)) {
      rest_.remove_prefix(std::min<std::size_t>(offset, rest_.size()));
    }
    Result<std::size_t> Read(std::span<char> out) override {
      if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
      const std::size_t size = rest_.copy(out.data(), out.size());
      rest_.remove_prefix(size);
      return size;
    }

   private:
    std::string_view rest_;
    std::stop_token stop_;
  };
  const std::string bytes_;
};

/// Versions are counted from "1"; a condition holds or fails as storage/store.h says.
class MapStore : public Store {
 public:
  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return Status(Code::kNotFound, "no such object");
    return std::unique_ptr<ByteFile>(std::make_unique<StringFile>(found->second));
  }
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, std::string(name), condition.kind));
  }
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return std::optional<ObjectInfo>();
    return std::optional<ObjectInfo>(ObjectInfo{found->first, found->second.size(), "1", std::nullopt});
  }
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectInfo> infos;
    for (const auto& [name, bytes] : objects_)
      if (name.starts_with(prefix)) infos.push_back({name, bytes.size(), "1", std::nullopt});
    return infos;
  }
  Status Remove(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = objects_.find(name); found != objects_.end()) objects_.erase(found);
    return {};
  }
  Status Sweep(std::string_view) override { return {}; }

  /// The bytes of an object, to look at or to damage; made empty where there is none.
  std::string& operator[](const std::string& name) { return objects_[name]; }
  const std::map<std::string, std::string, std::less<>>& objects() const { return objects_; }

 private:
  class Writer : public ObjectWriter {
   public:
    Writer(MapStore& store, std::string name, Condition::Kind kind)
        : store_(store), name_(std::move(name)), kind_(kind) {}
    Status Append(std::string_view bytes) override {
      bytes_.append(bytes);
      return {};
    }
    Result<ObjectInfo> Commit(std::stop_token) override {
      const std::lock_guard lock(store_.mutex_);
      if (kind_ == Condition::Kind::kCreateOnly && store_.objects_.contains(name_))
        return Status(Code::kAlreadyExists, name_ + ": exists");
      const std::uint64_t size = bytes_.size();
      store_.objects_[name_] = std::move(bytes_);
      return ObjectInfo{name_, size, "1", std::nullopt};
    }

   private:
    MapStore& store_;
    const std::string name_;
    const Condition::Kind kind_;
    std::string bytes_;
  };

  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> objects_;
};

}  // namespace pipeline
