// Whether buckets can be used from this machine, asked before anything depends on it: each answer with the
// one command that mends what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "remote/gcs_client.h"
#include "storage/uri.h"

namespace pipeline {

enum class CheckLevel : std::uint8_t { kOk, kWarning, kWrong };
/// Told of every check once, as "what: how it is[: why][; run: COMMAND]".
using CheckTeller = std::function<void(CheckLevel level, std::string line)>;

/// Asks with little patience. One thread at a time.
class GcsCheckup {
 public:
  /// `spool`: for the probe on its way, by MakeOwnDirectory.
  GcsCheckup(EnvironmentLookup environment, std::string spool, CheckTeller tell, std::stop_token stop);

  /// Where credentials are, and whether they give a token. False where buckets need not be asked.
  bool CheckIdentity();
  /// After CheckIdentity. Existence, region, what removing costs, reading; where it is written to, one object
  /// is made below the place and removed.
  enum class Use : std::uint8_t { kRead, kWrite };
  void CheckBucket(const Uri& place, Use use);
  /// After CheckIdentity: whether there is this object.
  void CheckObject(const Uri& place);

 private:
  /// False where there is no use in asking more of it.
  bool CheckProperties(const std::string& bucket);
  void CheckRegion(const std::string& bucket, const std::string& location);
  void CheckListing(const Uri& place, Use use);
  void CheckWriting(const Uri& place);
  /// What an answer that is an error means here.
  void TellRefusal(const GcsOperation& operation, const GcsError& error, std::string_view role);
  std::string GrantCommand(const std::string& bucket, std::string_view role) const;
  std::optional<std::string> AskMachine(std::string_view what) const;
  /// A clock that is minutes wrong is warned about by whoever looks at dates.
  void NoteTime(const HttpResponse& response) const;

  const EnvironmentLookup environment_;
  const std::string spool_;
  const CheckTeller tell_;
  const std::stop_token stop_;
  std::shared_ptr<GcsClient> client_;  // shared with stores; null before CheckIdentity said yes
  std::optional<std::string> metadata_host_;
  std::string region_;  // of this machine; empty: not known
  std::string member_;  // who is to be granted something, as IAM writes it
};

}  // namespace pipeline
