// Nobody is told how a run goes, but for the calls that a test overrides.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "dag/progress.h"

namespace pipeline {

class SilentProgress : public Progress {
 public:
  void StageBegan(std::string_view) override {}
  void StageDone(std::string_view) override {}
  void Started(std::shared_ptr<const RunningUnit>) override {}
  void Finished(std::string_view, const Status&) override {}
  void Logged(std::string_view, std::uint64_t, std::uint64_t) override {}
  void Advanced(std::string_view, std::uint64_t, std::uint64_t) override {}
  void Arriving(std::string_view, std::uint64_t, std::uint64_t, bool) override {}
  void Note(std::string_view) override {}
};

}  // namespace pipeline
