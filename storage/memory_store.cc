#include "storage/memory_store.h"

#include <map>

#include "base/crc32c.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/store.h"

namespace pipeline {

std::unique_ptr<ByteFile> MemoryFile(std::shared_ptr<const std::string> bytes) {
  return std::make_unique<HeldFile>(*bytes, bytes);
}

struct MemoryStore::Objects {
  struct Object {
    std::shared_ptr<const std::string> bytes;
    ObjectInfo info;
  };

  Status Check(std::string_view name, const Condition& condition) const REQUIRES(mutex) {
    const auto found = by_name.find(name);
    const bool is_there = found != by_name.end();
    if (condition.kind == Condition::Kind::kCreateOnly && is_there)
      return Status(Code::kAlreadyExists, StrCat(name, ": is there already"));
    if (condition.kind == Condition::Kind::kCreateOnly || condition.kind == Condition::Kind::kReplaceAny)
      return {};
    if (!is_there) return Status(Code::kFailedPrecondition, StrCat(name, ": was removed by somebody else"));
    if (found->second.info.version == condition.version) return {};
    return Status(Code::kFailedPrecondition, StrCat(name, ": was replaced by somebody else"));
  }

  /// Null: there is no such object, or it is in another state.
  const Object* Find(const ObjectInfo& known) const REQUIRES(mutex) {
    const auto found = by_name.find(known.name);
    const bool is_known =
        found != by_name.end() && (known.version.empty() || known.version == found->second.info.version);
    return is_known ? &found->second : nullptr;
  }

  Mutex mutex;
  std::map<std::string, Object, std::less<>> by_name GUARDED_BY(mutex);
  std::uint64_t generation GUARDED_BY(mutex) = 0;
};

class MemoryStore::Writer final : public ObjectWriter {
 public:
  Writer(std::shared_ptr<Objects> objects, std::string name, Condition condition)
      : objects_(std::move(objects)), name_(std::move(name)), condition_(std::move(condition)) {}

  Status Append(std::string_view bytes) override {
    bytes_.append(bytes);
    return {};
  }

  Result<ObjectInfo> Commit(std::stop_token) override {
    const auto bytes = std::make_shared<const std::string>(std::move(bytes_));
    const std::uint32_t crc = Crc32c(*bytes);
    const Lock lock(objects_->mutex);
    if (condition_.kind == Condition::Kind::kReplaceUnlessSame) {
      const auto there = objects_->by_name.find(name_);
      if (there != objects_->by_name.end() && *there->second.bytes == *bytes) return there->second.info;
    }
    RETURN_IF_ERROR(objects_->Check(name_, condition_));
    const std::string version = std::to_string(++objects_->generation);
    const ObjectInfo info{name_, bytes->size(), version, crc};
    objects_->by_name.insert_or_assign(name_, Objects::Object{bytes, info});
    return info;
  }

 private:
  std::shared_ptr<Objects> objects_;
  std::string name_;
  Condition condition_;
  std::string bytes_;
};

MemoryStore::MemoryStore() : objects_(std::make_shared<Objects>()) {}
MemoryStore::~MemoryStore() = default;

Result<std::unique_ptr<ByteFile>> MemoryStore::Open(std::string_view name) {
  return OpenKnown(ObjectInfo::Any(std::string(name)));
}

Result<std::unique_ptr<ByteFile>> MemoryStore::OpenKnown(const ObjectInfo& known) {
  RETURN_IF_ERROR(CheckObjectName(known.name));
  const Lock lock(objects_->mutex);
  const Objects::Object* const object = objects_->Find(known);
  if (object == nullptr) return Status(Code::kNotFound, StrCat(known.name, ": no such object"));
  return MemoryFile(object->bytes);
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::Create(std::string_view name, Condition condition) {
  RETURN_IF_ERROR(CheckObjectName(name));
  return std::make_unique<Writer>(objects_, std::string(name), std::move(condition));
}

Result<std::optional<ObjectInfo>> MemoryStore::Stat(std::string_view name) {
  RETURN_IF_ERROR(CheckObjectName(name));
  const Lock lock(objects_->mutex);
  const auto found = objects_->by_name.find(name);
  if (found == objects_->by_name.end()) return std::nullopt;
  return std::optional(found->second.info);
}

Result<std::vector<ObjectInfo>> MemoryStore::List(std::string_view prefix) {
  std::vector<ObjectInfo> infos;
  const Lock lock(objects_->mutex);
  for (auto at = objects_->by_name.lower_bound(prefix); at != objects_->by_name.end(); ++at) {
    if (std::string_view(at->first).substr(0, prefix.size()) != prefix) break;
    infos.push_back(at->second.info);
  }
  return infos;
}

Status MemoryStore::Remove(std::string_view name) {
  return RemoveKnown(*this, ObjectInfo::Any(std::string(name)));
}

Status MemoryStore::RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) {
  for (const ObjectInfo& object : objects) {
    RETURN_IF_ERROR(CheckObjectName(object.name));
    {
      const Lock lock(objects_->mutex);
      if (objects_->Find(object) != nullptr) objects_->by_name.erase(object.name);
    }
    if (!removed()) break;
  }
  return {};
}

Status MemoryStore::Sweep(std::string_view) { return {}; }

}  // namespace pipeline
