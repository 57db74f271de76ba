#include "cli/verify_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/artifact_place.h"
#include "cli/exit_code.h"
#include "cli/signals.h"
#include "verify/verify_artifact.h"

namespace pipeline {

namespace {

void Print(std::string_view line) { std::printf("%.*s\n", static_cast<int>(line.size()), line.data()); }

std::string Count(std::uint64_t number, std::string_view noun) {
  return StrCat(number, " ", noun, number == 1 ? "" : "s");
}

void PrintFindings(const std::string& place, const Findings& findings) {
  for (const std::string& line : findings.lines()) Print(StrCat(place, "/", findings.object(), ": ", line));
  if (findings.count() > findings.lines().size())
    Print(StrCat(place, "/", findings.object(), ": and ",
                 Count(findings.count() - findings.lines().size(), "more finding")));
}

std::string Summary(const VerifyReport& report) {
  std::uint64_t records = 0;
  std::string splits;
  for (const auto& [split, count] : report.records) {
    records += count;
    splits += StrCat(splits.empty() ? " (" : ", ", split, " ", count);
  }
  if (!splits.empty()) splits += ")";
  return StrCat("read ", Count(report.objects, "object"), ", ", Count(records, "record"), splits, ", ",
                HumanBytes(report.bytes));
}

/// True when nothing is wrong. Prints in either case.
bool PrintReport(const std::string& place, const VerifyReport& report) {
  std::uint64_t count = 0;
  for (const Findings& findings : report.findings) {
    PrintFindings(place, findings);
    count += findings.count();
  }
  if (count == 0)
    Print(StrCat(place, ": good: ", Summary(report)));
  else
    Print(StrCat(place, ": ", Count(count, "finding"), " in ", Count(report.findings.size(), "object"), ": ",
                 Summary(report)));
  return count == 0;
}

}  // namespace

int VerifyCommand(const Options& options) {
  SignalWatch signals;
  std::vector<ArtifactPlace> places;
  for (const std::string& target : options.targets) {
    Result<ArtifactPlace> place = OpenArtifactPlace(target);
    if (!place.ok()) {
      LogError(place.status().message());
      return kExitRefused;
    }
    places.push_back(std::move(place).value());
  }
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int exit_code = kExitDone;
  for (const ArtifactPlace& place : places) {
    const Result<Manifest> manifest = ReadManifestOf(place, signals.token());
    const Result<VerifyReport> report =
        manifest.ok() ? VerifyArtifact(*place.store, *manifest, threads, signals.token())
                      : Result<VerifyReport>(manifest.status());
    if (signals.exit_code() != 0) return signals.exit_code();
    if (!report.ok()) LogError(report.status().message());
    if (!report.ok() || !PrintReport(place.name, *report)) exit_code = kExitFailed;
  }
  if (std::fflush(stdout) == 0) return exit_code;
  LogError("standard output: cannot write what was found");
  return kExitFailed;
}

}  // namespace pipeline
