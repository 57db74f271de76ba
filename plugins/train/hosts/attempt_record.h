// The objects of an attempt that the leader creates, RUN/attempts/: its beginning and its end. Format:
// hosts.md, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// RUN/attempts/NNNNN.json: the starts of the hosts that train together.
struct AttemptRecord {
  std::int64_t number = 0;          // from 1
  std::vector<std::string> nonces;  // by host
  std::string coordinator;          // ADDRESS:PORT on host 0, for the trainers
  std::int64_t step = -1;           // of the checkpoint that all restore; -1: none, the training begins
  bool local = false;               // every host has its part of it on its own disk
  std::string data;                 // digest of the rows

  std::string Encode() const;
  bool operator==(const AttemptRecord&) const = default;
};

/// RUN/attempts/NNNNN.end.json: the hosts only look whether it is there.
struct AttemptEndRecord {
  std::int64_t number = 0;
  std::vector<int> lost;  // hosts that were lost or left; empty: its trainers ended by themselves
  std::string reason;     // for people

  std::string Encode() const;
};

/// The names below RUN, with five digits or more.
std::string AttemptName(std::int64_t number);
std::string AttemptEndName(std::int64_t number);

/// kDataLoss names `where` if the text is no attempt of a known version.
Result<AttemptRecord> ParseAttemptRecord(std::string_view text, std::string_view where);

}  // namespace pipeline
