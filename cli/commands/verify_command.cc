#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/report/length_loss.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/artifact_location.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/location/own_objects.h"
#include "stages/all/builtin.h"
#include "stages/verify/verified.h"
#include "stages/verify/verify_artifact.h"

namespace pipeline {

namespace {

void PrintFindings(const std::string& location, const Findings& findings) {
  for (const std::string& line : findings.lines())
    PrintLine(StrCat(location, "/", findings.object(), ": ", line));
  if (findings.count() > findings.lines().size())
    PrintLine(StrCat(location, "/", findings.object(), ": and ",
                     Counted(findings.count() - findings.lines().size(), "more finding")));
}

std::string Summary(const VerifyReport& report) {
  std::uint64_t records = 0;
  std::string splits;
  for (const auto& [split, count] : report.records) {
    records += count;
    splits += StrCat(splits.empty() ? " (" : ", ", split, " ", count);
  }
  if (!splits.empty()) splits += ")";
  return StrCat("read ", Counted(report.objects, "object"), ", ", Counted(records, "record"), splits, ", ",
                HumanBytes(report.bytes));
}

/// Prints the report. True: nothing is wrong.
bool PrintReport(const std::string& location, const VerifyReport& report) {
  if (!report.beside.empty())
    PrintLine(StrCat(location, ": beside the artifact: ", FirstOf(report.beside), ": no run wrote ",
                     report.beside.size() == 1 ? "it, and it was" : "them, and they were", " not read"));
  if (!report.sealed)
    PrintLine(StrCat(location, ": ", kManifestName,
                     " is unsealed: an earlier version wrote it, and its totals, counts and "
                     "facts are not checked"));
  std::uint64_t count = 0;
  for (const auto* const all : {&report.findings, &report.strays})
    for (const Findings& findings : *all) {
      PrintFindings(location, findings);
      count += findings.count();
    }
  if (const std::string loss = LengthLossLine(report); !loss.empty()) PrintLine(StrCat(location, ": ", loss));
  if (count == 0)
    PrintLine(StrCat(location, ": good: ", Summary(report)));
  else
    PrintLine(StrCat(location, ": ", Counted(count, "finding"), " in ",
                     Counted(report.findings.size() + report.strays.size(), "object"), ": ",
                     Summary(report)));
  return count == 0;
}

/// Verifies the whole artifact, and writes down for its next readers which objects are good.
Result<VerifyReport> VerifyLocation(const ArtifactLocation& location, int threads, const LengthFilter& filter,
                                    std::stop_token stop) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifestOf(location, stop));
  VerifiedObjects verified;
  VerifyRules rules;
  rules.threads = threads, rules.verified = &verified, rules.filter = &filter;
  Result<VerifyReport> report = VerifyArtifact(BuiltinTables(), *location.store, manifest, rules, stop);
  if (!report.ok()) return report;  // the earlier file about good objects stays
  if (const Status written = WriteVerified(*location.store, manifest, verified, stop); !written.ok())
    LogInfo(StrCat(location.name,
                   ": the verified objects cannot be written down, and are read again before a training: ",
                   written.message()));
  return report;
}

struct VerifyOptions {
  std::vector<std::string> locations;
  std::uint64_t max_tokens = 0;  // the longest line that a trainer accepts; 0: that of the data set
  std::string tokenizer;         // the trainer's; empty: the one beside the data set
};

/// Returns the reason why a trainer's loss cannot be counted. Empty: it can, or the location has a fault that
/// is reported later.
std::string WhyNotCounted(const ArtifactLocation& location, const VerifyOptions& options,
                          const LengthFilter& filter, const std::stop_token& stop) {
  const Result<Manifest> manifest = ReadManifestOf(location, stop);
  if (!manifest.ok() ||
      MakeExportCheck(BuiltinTables().exports, {*location.store, *manifest, stop, &filter})->CountsAbove() >
          0)
    return {};
  if (options.max_tokens == 0)
    return "--tokenizer counts nothing where a data set has no greatest length; name the trainer's, e.g. "
           "--max-tokens 128";
  if (options.tokenizer.empty())
    return "--max-tokens needs a tokenizer, and none lies beside a data set here; name the trainer's by "
           "--tokenizer";
  return "--max-tokens counts the lines of a TFDS data set with one text and no label, which this is not";
}

int Verify(const VerifyOptions& options) {
  SignalWatch signals;
  std::optional<Attendance> attendance(std::in_place, signals.token());
  std::vector<ArtifactLocation> locations;
  for (const std::string& target : options.locations) {
    Result<ArtifactLocation> location = OpenArtifactLocation(target);
    if (!location.ok()) return Refuse(location.status());
    locations.push_back(std::move(location).value());
  }
  const Result<LengthFilter> filter =
      ReadLengthFilter(options.tokenizer, options.max_tokens, signals.token());
  if (!filter.ok()) return Refuse(filter.status());
  if (options.max_tokens > 0 || !options.tokenizer.empty())
    for (const ArtifactLocation& location : locations)
      if (const std::string why = WhyNotCounted(location, options, *filter, signals.token()); !why.empty())
        return Refuse(StrCat(location.name, ": ", why));
  attendance.reset();
  const int threads = ThreadCount();
  int exit_code = kExitDone;
  for (const ArtifactLocation& location : locations) {
    const Result<VerifyReport> report = VerifyLocation(location, threads, *filter, signals.token());
    if (signals.exit_code() != 0) return signals.exit_code();
    if (!report.ok()) LogError(report.status().message());
    if (!report.ok() && report.status().code() == Code::kNotFound)
      exit_code = exit_code == kExitDone ? kExitRefused : exit_code;
    else if (!report.ok() || !PrintReport(location.name, *report))
      exit_code = kExitFailed;
  }
  return exit_code;
}

}  // namespace

Command VerifyCommand() {
  const auto options = std::make_shared<VerifyOptions>();
  return {
      .name = "verify",
      .help =
          "Read every record of an artifact again and check all that can be checked; good "
          "objects are written down beside it, and not read again before a training",
      .words = {{.value = "PLACE",
                 .help = "Directory of an artifact: as `out` names it, or in a work directory",
                 .required = true,
                 .to = &options->locations},
                {.flags = {"--max-tokens"},
                 .value = "N",
                 .help =
                     "A trainer's longest line, its end mark included: how much of a TFDS data set of texts "
                     "it drops; by default the one that the data set was written for",
                 .range = WordRange{1, 1 << 30},
                 .to = &options->max_tokens},
                {.flags = {"--tokenizer"},
                 .value = "PLACE",
                 .help =
                     "Its SentencePiece model, or the directory of a tokenizer; by default the one beside "
                     "the data set",
                 .to = &options->tokenizer}},
      .run = [options](const Call&) { return Verify(*options); },
  };
}

}  // namespace pipeline
