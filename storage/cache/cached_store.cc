#include "storage/cache/cached_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byte_reader.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/ranged_file.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostAhead = 32;  // blocks that one request asks for

std::string KeyOf(const std::string& location, const ObjectInfo& object) {
  Hasher hasher;
  hasher.UpdateField(location).UpdateField(object.name).UpdateField(object.version).UpdateU64(object.size);
  return hasher.Finish().ToHex();
}

/// One state of an object, of which the cache may have some blocks.
class CachedFile final : public ByteFile {
 public:
  CachedFile(std::shared_ptr<Store> store, ObjectInfo object, std::shared_ptr<CachedBlocks> blocks)
      : store_(std::move(store)), object_(std::move(object)), blocks_(std::move(blocks)) {}

  std::uint64_t size() const override { return object_.size; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  CachedBlocks& blocks() const { return *blocks_; }

  /// The object in its store, in the same state; opened at the first call.
  Result<const ByteFile*> Remote() const {
    const Lock lock(mutex_);
    if (remote_ != nullptr) return remote_.get();
    Result<std::unique_ptr<ByteFile>> opened = store_->OpenKnown(object_);
    if (opened.status().code() == Code::kNotFound)
      return Status(
                 Code::kDataLoss,
                 StrCat(object_.name, ": was replaced or removed while it was read; read it from its start"))
          .With(std::make_shared<ReplacedWhileRead>());
    if (!opened.ok()) return std::move(opened).status();
    remote_ = std::move(*opened);
    return remote_.get();
  }

 private:
  const std::shared_ptr<Store> store_;
  const ObjectInfo object_;
  const std::shared_ptr<CachedBlocks> blocks_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<ByteFile> remote_ GUARDED_BY(mutex_);
};

class Reader final : public RepeatingReader {
 public:
  Reader(const CachedFile& file, std::uint64_t offset, std::stop_token stop)
      : file_(file), at_(std::min(offset, file.size())), stop_(std::move(stop)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "reading was stopped");
    if (at_ >= file_.size()) return std::size_t{0};
    if (Current() != held_) RETURN_IF_ERROR(Load(Current()));
    const std::string_view rest = std::string_view(bytes_).substr(at_ % kCacheBlockBytes);
    const std::size_t given = rest.copy(out.data(), out.size());
    at_ += given;
    return given;
  }

  std::uint64_t Current() const { return at_ / kCacheBlockBytes; }

  Status Load(std::uint64_t block) {
    held_.reset();
    bytes_.resize(file_.blocks().BytesOf(block));
    if (block != arriving_ && file_.blocks().Read(block, bytes_)) {
      held_ = block;
      return {};
    }
    if (block != arriving_) RETURN_IF_ERROR(Request(block));
    Status arrived = ReadExactly(*remote_, bytes_);
    if (arrived.Detail<RefusesPart>() != nullptr) {
      whole_only_ = true;
      RETURN_IF_ERROR(Request(block));
      arrived = ReadExactly(*remote_, bytes_);
    }
    RETURN_IF_ERROR(arrived);
    file_.blocks().Write(block, bytes_);
    held_ = block;
    arriving_ = block + 1 < end_ ? std::optional(block + 1) : std::nullopt;
    if (!arriving_) remote_.reset();
    return {};
  }

  /// Requests `block` and some that follow: more of them, the longer the reader goes on.
  Status Request(std::uint64_t block) {
    ahead_ = block == end_ ? std::min(ahead_ * 2, kMostAhead) : 1;
    ASSIGN_OR_RETURN(const ByteFile* const remote, file_.Remote());
    const std::uint64_t blocks = (file_.size() + kCacheBlockBytes - 1) / kCacheBlockBytes;
    end_ = std::min(block + ahead_, blocks);
    const std::uint64_t begin_byte = block * kCacheBlockBytes;
    const std::uint64_t end_byte = std::min(end_ * kCacheBlockBytes, file_.size());
    const auto* const ranged = dynamic_cast<const RangedFile*>(remote);
    if (ranged != nullptr && !whole_only_) {
      ASSIGN_OR_RETURN(remote_, ranged->OpenRange(begin_byte, end_byte, stop_));
    } else {
      ASSIGN_OR_RETURN(remote_, remote->Open(begin_byte, stop_));
    }
    arriving_ = block;
    return {};
  }

  const CachedFile& file_;
  std::uint64_t at_;
  const std::stop_token stop_;
  std::string bytes_;                   // of the block `held_`
  std::optional<std::uint64_t> held_;   // absent: none is loaded
  std::unique_ptr<ByteReader> remote_;  // gives `arriving_` next, and ends before `end_`
  std::optional<std::uint64_t> arriving_;
  std::uint64_t end_ = 0;
  std::uint64_t ahead_ = 1;
  bool whole_only_ = false;
};

Result<std::unique_ptr<ByteReader>> CachedFile::Open(std::uint64_t offset, std::stop_token stop) const {
  return std::make_unique<Reader>(*this, offset, std::move(stop));
}

class CachedWriter final : public ObjectWriter {
 public:
  CachedWriter(std::unique_ptr<ObjectWriter> inner, std::string location, ObjectCache& cache)
      : inner_(std::move(inner)), location_(std::move(location)), copy_(cache.Copy()) {}

  Status Append(std::string_view bytes) override {
    if (copy_) copy_->Append(bytes);
    return inner_->Append(bytes);
  }
  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    copy_.reset();  // the inner store may copy the file without its bytes
    const auto* const cached = dynamic_cast<const CachedFile*>(&file);
    if (cached == nullptr) return inner_->AppendFile(file, std::move(stop));
    ASSIGN_OR_RETURN(const ByteFile* const remote, cached->Remote());
    return inner_->AppendFile(*remote, std::move(stop));
  }
  Result<ObjectInfo> Commit(std::stop_token stop) override {
    Result<ObjectInfo> made = inner_->Commit(std::move(stop));
    if (made.ok() && copy_ && !made->version.empty()) copy_->Keep(KeyOf(location_, *made), made->size);
    return made;
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::string location_;
  std::optional<CacheCopy> copy_;  // absent: the object is not kept
};

/// Reads what the cache has from there, and stores in it what arrives and what is written. Names, versions
/// and failures are those of the inner store: each Open asks it for the present version. OpenKnown asks for
/// nothing; a state that is gone is noticed at the first block that is not here. Files and writers may
/// outlive the store, not the cache. Objects without a version are not cached.
class CachedStore final : public ForwardingStore {
 public:
  /// `location` names the inner store among all that use the cache. `cache` outlives the store.
  CachedStore(std::shared_ptr<Store> inner, std::string location, ObjectCache& cache)
      : ForwardingStore(*inner), inner_(std::move(inner)), location_(std::move(location)), cache_(cache) {}

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override {
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> object, inner_->Stat(name));
    if (!object) return Status(Code::kNotFound, StrCat(location_, "/", name, ": no such object"));
    if (std::unique_ptr<ByteFile> cached = Cached(*object)) return cached;
    return inner_->Open(name);
  }

  Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known) override {
    if (std::unique_ptr<ByteFile> cached = Cached(known)) return cached;
    return inner_->OpenKnown(known);
  }

  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, inner_->Create(name, std::move(condition)));
    return std::make_unique<CachedWriter>(std::move(writer), location_, cache_);
  }

 private:
  /// Null: the state is not cached.
  std::unique_ptr<ByteFile> Cached(const ObjectInfo& known) {
    std::shared_ptr<CachedBlocks> blocks;
    if (!known.version.empty()) blocks = cache_.Find(KeyOf(location_, known), known.size);
    if (blocks == nullptr) return nullptr;
    return std::make_unique<CachedFile>(inner_, known, std::move(blocks));
  }

  const std::shared_ptr<Store> inner_;  // shared with the files
  const std::string location_;
  ObjectCache& cache_;
};

}  // namespace

std::unique_ptr<Store> NewCachedStore(std::shared_ptr<Store> inner, std::string location,
                                      ObjectCache& cache) {
  return std::make_unique<CachedStore>(std::move(inner), std::move(location), cache);
}

}  // namespace pipeline
