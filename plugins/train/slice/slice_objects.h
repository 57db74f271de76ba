// The objects that the hosts of a training share, in the location of the run. Names:
// plugins/train/hosts/hosts.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/train/hosts/slice_books.h"
#include "plugins/train/object_files.h"

namespace pipeline {

/// Safe from any thread.
class SliceObjects final : public SliceBooks {
 public:
  struct Sources {
    std::function<Result<bool>()> is_published;
    std::function<Result<std::int64_t>()> newest_marker;  // its step; -1: there is none
    std::vector<std::string> addresses;                   // by host; empty: unknown
  };

  /// `run_uri`: the run directory, a path or a URI.
  SliceObjects(const PluginStorage& storage, std::string run_uri, Sources sources);

  Result<std::optional<StoredCard>> ReadCard(int host) override;
  Result<std::optional<std::string>> WriteCard(const HostCard& card, const std::string& known) override;
  Result<std::optional<AttemptRecord>> ReadAttempt(std::int64_t number) override;
  Result<bool> HasEnd(std::int64_t number) override;
  Result<bool> CreateAttempt(const AttemptRecord& attempt) override;
  Result<bool> CreateEnd(const AttemptEndRecord& end) override;
  Result<bool> IsPublished() override { return sources_.is_published(); }
  Result<std::int64_t> NewestMarker() override { return sources_.newest_marker(); }
  Result<std::vector<OtherCardName>> ListOtherCards() override;
  Result<std::optional<HostCard>> ReadOtherCard(const OtherCardName& name) override;

 private:
  std::string Uri(const std::string& name) const { return run_uri_ + "/" + name; }
  /// True also if the object has these bytes already: the answer to an earlier try was lost.
  Result<bool> Create(const std::string& name, const std::string& bytes);

  const PluginStorage& storage_;
  const std::string run_uri_;
  const Sources sources_;
};

}  // namespace pipeline
