// Which objects at a place are of runs, and so may be removed by one: dag/place/place_names.md
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "dag/place/names_part.h"
#include "storage/store.h"

namespace pipeline {

/// The list of one place. Safe from any thread.
class PlaceNames {
 public:
  /// `out` is rooted at the place and outlives the list; `there` is all that lies at the place.
  static Result<std::unique_ptr<PlaceNames>> Read(Store& out, const std::vector<ObjectInfo>& there,
                                                  std::stop_token stop = {});

  /// False where there was no list, or a part of it cannot be read.
  bool complete() const { return complete_; }
  bool Has(std::string_view name) const;
  /// Durable when it returns. Writes nothing where all are listed.
  Status Add(const std::vector<std::string>& names, std::stop_token stop = {});

  /// Lists `kept`, and removes the other listed objects that lie at the place, telling each name first. Then
  /// the list has `kept` alone. What lies below the place of another artifact stays.
  Status RemoveOthers(const NameSet& kept, const std::function<void(std::string_view name)>& told,
                      std::stop_token stop = {});

 private:
  explicit PlaceNames(Store& out) : out_(out) {}
  Status Write(const std::vector<NamesPart>& parts, const std::stop_token& stop) REQUIRES(mutex_);

  Store& out_;
  bool complete_ = false;
  mutable Mutex mutex_;
  NameSet names_ GUARDED_BY(mutex_);    // listed
  NameSet parts_ GUARDED_BY(mutex_);    // objects of the list
  NameSet damaged_ GUARDED_BY(mutex_);  // the same, that cannot be read
};

/// `out` with every object listed in `names` before it is created. Both outlive it.
std::unique_ptr<Store> ListedStore(Store& out, PlaceNames& names);

}  // namespace pipeline
