// tfdata.json: describes a data set of write_tfdata. Format: stages/export/tfdata/tfdata.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

inline constexpr std::string_view kTfdataInfoFile = "tfdata.json";
inline constexpr std::string_view kTfdataModelFile = "tokenizer.model";

struct TfdataDirectory {
  std::string name;
  std::string run_id;
  std::uint64_t ids = 0;
  std::uint64_t documents = 0;
  bool operator==(const TfdataDirectory&) const = default;
};

struct TfdataSplit {
  std::string name;
  std::vector<TfdataDirectory> directories;
  std::uint64_t ids() const;
  bool operator==(const TfdataSplit&) const = default;
};

struct TfdataInfo {
  std::string eos;           // after each "document" or "line", or "none"
  TokenizerFacts tokenizer;  // `model` is kTfdataModelFile
  std::vector<TfdataSplit> splits;
  bool operator==(const TfdataInfo&) const = default;
};

std::string TfdataInfoJson(const TfdataInfo& info);

/// kDataLoss names the missing or wrong member; kFailedPrecondition for another version.
Result<TfdataInfo> ParseTfdataInfo(std::string_view text);

}  // namespace pipeline
