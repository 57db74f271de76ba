// A store that keeps small objects which are committed together in one object of another store, because a
// file costs a file system more than its few bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "storage/bundle_file.h"
#include "storage/store.h"

namespace pipeline {

/// Its methods do not show which objects are in bundles. An object of its own hides one of the same name in a
/// bundle, and a bundle hides those with lower numbers. The first look at a name that has no object of its
/// own lists the other store; a bundle that another process writes later is found by List alone.
class BundleStore final : public Store {
 public:
  explicit BundleStore(std::unique_ptr<Store> inner);
  ~BundleStore() override;

  Result<std::unique_ptr<ByteFile>> Open(std::string_view name) override;
  /// Writes an object of its own. A condition on an object in a bundle is compared here, not at its commit.
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view name) override;
  Result<std::vector<ObjectInfo>> List(std::string_view prefix) override;
  Status Remove(std::string_view name) override;
  /// Compares no version of an object in a bundle: the removal of others in its bundle changes it.
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override;
  Status Sweep(std::string_view prefix) override { return inner_->Sweep(prefix); }

  struct Object {
    std::string name;  // one that CanBeBundled
    std::string bytes;
  };
  /// Commits all objects, whatever has their names now, and returns the outcome of each. One that replaces an
  /// object of its own gets one again; all others become visible together, as one bundle.
  std::vector<Status> CommitTogether(std::span<const Object> objects, const std::stop_token& stop = {});

 private:
  struct Bundle {
    std::uint64_t number = 0;
    std::string version;
    std::vector<BundledPart> parts;
    bool damaged = false;  // then it is an object like any other
  };
  struct Place {
    std::uint64_t number = 0;  // of the bundle
    std::string bundle;
    std::string version;  // of the object
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool operator<(const Place& other) const {
      return number != other.number ? number < other.number : bundle < other.bundle;
    }
  };
  struct OpenFile {
    std::string bundle;
    std::shared_ptr<const ByteFile> file;
  };

  Status Look() EXCLUDES(mutex_);
  Status TakeIn(const std::vector<ObjectInfo>& listed) EXCLUDES(mutex_);
  static Place PlaceIn(const std::string& name, const Bundle& bundle, const BundledPart& part);
  void Add(const std::string& name, Bundle bundle) REQUIRES(mutex_);
  void Forget(const std::string& bundle) REQUIRES(mutex_);
  std::optional<Place> Find(std::string_view name) EXCLUDES(mutex_);
  Result<std::shared_ptr<const ByteFile>> OpenBundle(const std::string& bundle) EXCLUDES(mutex_);
  Result<std::string> Read(const Place& place) EXCLUDES(mutex_);
  Status CommitBundle(std::span<const Object* const> objects, const std::stop_token& stop) EXCLUDES(mutex_);
  Status RemoveParts(const std::set<std::string, std::less<>>& names) EXCLUDES(mutex_);

  const std::unique_ptr<Store> inner_;
  Mutex mutex_;
  bool looked_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Bundle, std::less<>> bundles_ GUARDED_BY(mutex_);  // by name
  std::map<std::string, std::set<Place>, std::less<>> places_
      GUARDED_BY(mutex_);  // by object; the last counts
  std::set<std::string, std::less<>> hidden_
      GUARDED_BY(mutex_);                          // parts that may have an object of their own
  std::vector<OpenFile> open_ GUARDED_BY(mutex_);  // the last used one is the last
  std::uint64_t next_ GUARDED_BY(mutex_) = 1;      // number of the next bundle
};

}  // namespace pipeline
