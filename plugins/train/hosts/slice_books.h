// The objects that the hosts of a training share, as operations. hosts.md, section 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugins/train/hosts/host_card.h"
#include "plugins/train/hosts/recipe_search.h"

namespace pipeline {

/// A card with the version of its object.
struct StoredCard {
  HostCard card;        // without a nonce: the object is damaged
  std::string version;  // changes with every write
};

/// Every function may block, and may be called from any thread.
class SliceBooks {
 public:
  virtual ~SliceBooks() = default;

  /// Absent: the host has no card.
  virtual Result<std::optional<StoredCard>> ReadCard(int host) = 0;
  /// Replaces the card of `card.host` if its version is `known`, or creates it if `known` is empty. Returns
  /// the new version; absent: the object has another version, and nothing changed.
  virtual Result<std::optional<std::string>> WriteCard(const HostCard& card, const std::string& known) = 0;

  /// Absent: there is no attempt of this number.
  virtual Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t number) = 0;
  virtual Result<bool> HasEnd(std::int64_t number) = 0;
  /// Both return false if there is such an object already; it stays as it is. They fail if this host no
  /// longer holds the location.
  virtual Result<bool> CreateAttempt(const AttemptRecord& attempt) = 0;
  virtual Result<bool> CreateEnd(const AttemptEndRecord& end) = 0;

  /// The published result of the whole run is there.
  virtual Result<bool> IsPublished() = 0;
  /// The step of the newest usable marker of a checkpoint; -1: there is none. kDataLoss: all are damaged.
  virtual Result<std::int64_t> NewestMarker() = 0;

  /// All cards in the run directories of other recipes of the stage. Lists every object of these directories,
  /// so it may take minutes.
  virtual Result<std::vector<OtherCardName>> ListOtherCards() = 0;
  /// Absent: it is gone or damaged, or is that of a machine of another training.
  virtual Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName& name) = 0;
};

}  // namespace pipeline
