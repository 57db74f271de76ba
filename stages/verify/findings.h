// Collects the problems of one object of an artifact, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"

namespace pipeline {

/// Keeps the first kKept findings and counts all: a damaged shard may have a million. One thread at a time.
class Findings {
 public:
  static constexpr std::size_t kKept = 20;

  /// `remedy` tells a person how to repair it; it ends each line.
  Findings(std::string object, std::string remedy) : object_(std::move(object)), remedy_(std::move(remedy)) {}

  void Add(std::string_view what) {
    if (++count_ <= kKept) lines_.push_back(StrCat(what, "; ", remedy_));
  }

  const std::string& object() const { return object_; }
  const std::vector<std::string>& lines() const { return lines_; }
  std::uint64_t count() const { return count_; }

 private:
  std::string object_;
  std::string remedy_;
  std::vector<std::string> lines_;
  std::uint64_t count_ = 0;
};

}  // namespace pipeline
