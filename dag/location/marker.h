// The marker of a location: it names the run that publishes there, and is written before the first
// object. Objects beside a marker without a manifest are ours and unfinished. Form: dag/location/lease.md
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/location/publishing.h"
#include "storage/store.h"

namespace pipeline {

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

}  // namespace pipeline
