// Tells which missing hosts live with another recipe, as with another file or other keys. hosts.md,
// section 5. No I/O and no clock: the caller does both.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/train/hosts/host_timing.h"
#include "plugins/train/hosts/sign_watch.h"

namespace pipeline {

/// The card of a host in the run directory of another recipe.
struct OtherCardName {
  std::string run;  // the last part of the directory's name
  int host = 0;
  auto operator<=>(const OtherCardName&) const = default;
};

/// One wait for hosts. One thread at a time.
class RecipeSearch {
 public:
  using Time = HostTiming::Time;

  explicit RecipeSearch(Time given_up) : given_up_(given_up) {}

  /// All cards that there are. Cards that are there no longer are forgotten.
  void Listed(const std::vector<OtherCardName>& names);
  /// The cards to read now: those of `missing`, and that of host 0 beside them. At most kMostAtOnce and the
  /// rest of a directory; the next call goes on behind them.
  std::vector<OtherCardName> ToRead(const std::set<int>& missing);
  /// A card as it was read; absent: it could not be read, or is of no interest.
  void Saw(const OtherCardName& name, const std::optional<HostCard>& card, Time now);

  struct Found {
    std::string run;
    std::string address;
    bool operator==(const Found&) const = default;
  };
  /// The hosts among `missing` that live in another directory, without a leader: with a leader, they are
  /// those of another training.
  std::map<int, Found> Living(const std::set<int>& missing, Time now) const;

  static constexpr std::size_t kMostAtOnce = 50;

 private:
  using Cards = std::map<int, std::optional<SignWatch>>;  // absent: not read yet

  const Time given_up_;
  std::map<std::string, Cards> runs_;
  std::string next_;  // the directory with which the next ToRead begins
};

}  // namespace pipeline
