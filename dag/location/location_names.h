// The list of objects that runs wrote at a location, so that a run may remove them:
// dag/location/location_names.md
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kNamesPrefix = ".pipe/names/";

using NameSet = std::set<std::string, std::less<>>;

/// One part of the list: one object.
struct NamesPart {
  std::string object;  // its name, which is made from its bytes
  std::string text;
};

/// Returns the parts of a list with exactly `names`: the same names give the same parts.
std::vector<NamesPart> NamesPartsOf(const NameSet& names);

/// Returns the names of a part, in its order. Absent: the part is damaged.
std::optional<std::vector<std::string>> ParseNamesPart(std::string_view text);

/// The list of one location. Safe from any thread.
class LocationNames {
 public:
  /// `out` is rooted at the location and outlives the list; `there` has all objects there.
  static Result<std::unique_ptr<LocationNames>> Read(Store& out, const std::vector<ObjectInfo>& there,
                                                     std::stop_token stop = {});

  /// False: there was no list, or a part of it is unreadable.
  bool complete() const { return complete_; }
  bool Has(std::string_view name) const;
  /// The names are durable when it returns OK. Writes nothing if all are listed.
  Status Add(const std::vector<std::string>& names, std::stop_token stop = {});

  /// Lists `kept`, and removes the other listed objects at the location, after calling `told` with the name
  /// of each. Then the list has `kept` alone. Objects below the location of another artifact stay.
  Status RemoveOthers(const NameSet& kept, const std::function<void(std::string_view name)>& told,
                      std::stop_token stop = {});

 private:
  explicit LocationNames(Store& out) : out_(out) {}
  Status Write(const std::vector<NamesPart>& parts, const std::stop_token& stop) REQUIRES(mutex_);

  Store& out_;
  bool complete_ = false;
  mutable Mutex mutex_;
  NameSet names_ GUARDED_BY(mutex_);    // listed
  NameSet parts_ GUARDED_BY(mutex_);    // objects of the list
  NameSet damaged_ GUARDED_BY(mutex_);  // those of them that are unreadable
};

/// Returns `out`, but every object is listed in `names` before it is created. Both arguments outlive it.
std::unique_ptr<Store> ListedStore(Store& out, LocationNames& names);

}  // namespace pipeline
