// The objects that hosts write for each other: the card of a host, RUN/hosts/K.json, its sign of life and its
// state; and those of an attempt that the leader creates, RUN/attempts/, its beginning and its end. Formats:
// hosts.md, section 3.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/train/hosts/training_end.h"

namespace pipeline {

/// A complete checkpoint, or this host's part of it, on the disk of the host.
struct LocalCheckpoint {
  std::int64_t step = 0;
  std::int64_t attempt = 0;  // that made it
  std::string part;          // 16 hexadecimal digits, derived from the files of the part
  bool operator==(const LocalCheckpoint&) const = default;
};

struct HostCard {
  int host = 0;
  int hosts = 1;
  std::string nonce;  // 32 hexadecimal digits, new at each start of the program
  std::string boot;   // id of the running kernel; empty: unknown
  std::string address;
  std::int64_t sign = 0;  // grows with each renewal
  /// Digests by name ("program", "environment" …): all hosts must have those of the leader.
  std::map<std::string, std::string> digests;
  std::vector<LocalCheckpoint> local;
  std::int64_t trains = 0;          // the attempt that this host has accepted and not ended; 0: none
  std::optional<TrainerEnd> ended;  // the last trainer of this start
  /// A trainer of this host waits for files that its stage fetches; of the leader: of any host.
  bool fetches = false;
  bool leaves = false;                  // the run was stopped on this host
  std::int64_t stop = 0;                // of the leader: the attempt whose trainers all save and end; 0: none
  std::optional<LocalCheckpoint> send;  // of the leader: step and attempt of the checkpoint that all send
  std::optional<TrainingEnd> over;      // of the leader: the run has ended

  std::string Encode() const;
  bool operator==(const HostCard&) const = default;
};

/// kDataLoss names `where` if the text is no card of a known version.
Result<HostCard> ParseHostCard(std::string_view text, std::string_view where);

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
