#include "plugins/train/hosts/recipe_search.h"

#include <algorithm>
#include <utility>

namespace pipeline {

void RecipeSearch::Listed(const std::vector<OtherCardName>& names) {
  std::map<std::string, Cards> runs;
  for (const OtherCardName& name : names) {
    const auto run = runs_.find(name.run);
    Cards::node_type known = run == runs_.end() ? Cards::node_type() : run->second.extract(name.host);
    if (known.empty())
      runs[name.run].try_emplace(name.host);
    else
      runs[name.run].insert(std::move(known));
  }
  runs_.swap(runs);
}

std::vector<OtherCardName> RecipeSearch::ToRead(const std::set<int>& missing) {
  std::vector<OtherCardName> names;
  auto run = runs_.lower_bound(next_);
  for (std::size_t looked = 0; looked < runs_.size() && names.size() < kMostAtOnce; ++looked, ++run) {
    if (run == runs_.end()) run = runs_.begin();
    const bool has_missing = std::any_of(run->second.begin(), run->second.end(),
                                         [&](const auto& card) { return missing.contains(card.first); });
    if (!has_missing) continue;
    for (const auto& [host, watch] : run->second)
      if (host == 0 || missing.contains(host)) names.push_back({.run = run->first, .host = host});
  }
  next_ = run == runs_.end() ? std::string() : run->first;
  return names;
}

void RecipeSearch::Saw(const OtherCardName& name, const std::optional<HostCard>& card, Time now) {
  const auto run = runs_.find(name.run);
  if (run == runs_.end()) return;
  const auto found = run->second.find(name.host);
  if (found == run->second.end()) return;
  if (!found->second) found->second.emplace(given_up_, now);
  found->second->Saw(card, now);
}

std::map<int, RecipeSearch::Found> RecipeSearch::Living(const std::set<int>& missing, Time now) const {
  std::map<int, Found> living;
  for (const auto& [run, cards] : runs_) {
    // A leader that was not read for long enough may live.
    if (const auto leader = cards.find(0);
        leader != cards.end() && (!leader->second || leader->second->SilentFor(now) <= given_up_))
      continue;
    for (const auto& [host, watch] : cards)
      if (host != 0 && missing.contains(host) && watch && watch->Fresh(now))
        living.emplace(host, Found{.run = run, .address = watch->card()->address});
  }
  return living;
}

}  // namespace pipeline
