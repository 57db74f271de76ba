// A claim names the run that means to publish at a place; it is laid down before the first object. What lies
// beside a claim without a manifest is ours and unfinished. Form: dag/place/lease.md
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dag/place/publishing.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kClaimName = ".pipe/claim.json";

struct Claim {
  std::string stage, recipe;
  std::string holder;   // LeaseTerms::holder; empty: not known
  bool others = false;  // another work directory or recipe wrote there before, and may have left objects
};

/// Absent where there is none. One that cannot be read is that of others.
Result<std::optional<Claim>> ReadClaim(Store& out);

/// Lays down that of `by`; remembers what others laid there.
Status LayClaim(const Publishing& by, Store& out);

}  // namespace pipeline
