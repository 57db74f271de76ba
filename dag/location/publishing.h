// The run and the stage that publish at a location. They identify the run's marker, manifest and objects
// there.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "dag/books/manifest.h"
#include "dag/books/run_log.h"
#include "dag/location/lease.h"
#include "dag/location/location_names.h"
#include "dag/location/own_objects.h"
#include "storage/store.h"

namespace pipeline {

struct Publishing {
  std::string stage;
  std::string location;  // its URI, for messages
  Digest recipe;
  std::string holder;            // LeaseTerms::holder
  std::string manifest_version;  // of the manifest at planning time; empty: none
  NameTests names;
  const RunLog* log = nullptr;  // log of the work directory; null: none
  std::function<void(std::string_view line)> note = [](std::string_view) {};
};

// The manifest of an artifact. Rules: dag/location/lease.md

/// kFailedPrecondition: a manifest of another recipe is there that was not there when the run was planned.
Status CheckNotPublished(const Publishing& by, Store& out, std::stop_token stop);

/// Replaces the present manifest, also one from a run that had lost the location. kFailedPrecondition:
/// another recipe was published since planning, and all objects that it names exist.
Status CommitManifest(const Publishing& by, Store& out, const Manifest& manifest, std::stop_token stop);

// Leftovers of runs at a location: they are listed before a run writes there, and removed before its
// manifest. Rules: dag/location/location_names.md

/// Adds to `names`: `planned`, and those of `there` (all objects at the location) that runs wrote.
/// kFailedPrecondition: an object of `planned` is there that no run wrote.
Status ListNames(const Publishing& by, Store& out, const std::vector<ObjectInfo>& there,
                 const std::vector<std::string>& planned, LocationNames& names, std::stop_token stop);

/// Adds the objects of `manifest` to `names`, and removes the other listed objects. Reports each removed
/// object, and the objects that stay because no run wrote them.
Status RemoveLeftovers(const Publishing& by, Store& out, const Manifest& manifest, LocationNames& names,
                       std::stop_token stop);

/// Compares an object with its recorded description, over all its bytes. False: the object is absent or
/// different. Uses the checksum of the store if it keeps one; otherwise reads the object.
Result<bool> HoldsBytes(Store& store, const StoredObject& object, std::stop_token stop);

// The marker of a location: it names the run that publishes there, and is written before the first
// object. Objects beside a marker without a manifest are ours and unfinished. Form: dag/location/lease.md

inline constexpr std::string_view kMarkerName = ".pipe/claim.json";

struct PublicationMarker {
  std::string stage, recipe;
  std::string holder;   // LeaseTerms::holder; empty: unknown
  bool others = false;  // another work directory or recipe wrote there before, and may have left objects
};

/// Absent: there is no marker. An unreadable marker counts as one of others.
Result<std::optional<PublicationMarker>> ReadMarker(Store& out);

/// Writes the marker of `by`, and sets PublicationMarker::others if the previous marker was of others.
Status WriteMarker(const Publishing& by, Store& out);

/// Removes a location at which an earlier run of the same work directory left nothing but its own marks: the
/// directory `path`, if all files in it are the program's own, below `.pipe/`, and no other work
/// directory than `terms.holder` has marked or leased it. The caller holds the lock of its work directory.
/// False: it stays, also if a run holds its lock, or a file belongs to another user.
Result<bool> RemoveIfEmpty(const std::string& path, const LeaseTerms& terms);

}  // namespace pipeline
