#include "plugins/verified_input.h"

#include <cstdint>
#include <utility>

#include "base/str.h"
#include "dag/books/manifest.h"
#include "stages/all/builtin.h"
#include "stages/verify/verified.h"
#include "stages/verify/verify_artifact.h"

namespace pipeline {

namespace {

/// The first finding, the number of further findings, and the command that shows them.
Status CheckReport(std::string_view named_input, const std::string& uri, const VerifyReport& report) {
  std::uint64_t count = 0;
  for (const Findings& findings : report.findings) count += findings.count();
  if (count == 0) return {};
  const Findings& first = report.findings.front();
  std::string line = StrCat("the artifact at `", named_input, "` is not as it must be: ", uri, "/",
                            first.object(), ": ", first.lines().front());
  if (count > 1)
    line += StrCat("; ", count - 1, " more finding", count > 2 ? "s" : "", ", which `pipe verify ", uri,
                   "` shows");
  return Status(Code::kDataLoss, std::move(line));
}

std::string Summary(std::string_view named_input, const VerifyReport& report) {
  const std::uint64_t all = report.objects + report.verified_before;
  if (report.objects == 0) return StrCat("`", named_input, "`: all ", all, " objects were verified before");
  return StrCat("`", named_input, "`: verified ", report.objects, " of ", all, " objects, ",
                HumanBytes(report.bytes), report.verified_before > 0 ? "; the others were before" : "");
}

}  // namespace

Status VerifyInput(std::string_view named_input, Store& directory, const std::string& uri,
                   const JobRequest& request, const std::function<void(std::string_view text)>& note) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory, uri, request.stop));
  const VerifiedObjects before = ReadVerified(directory, manifest, request.stop);
  VerifiedObjects verified = before;
  VerifyRules rules = {request.threads, &verified};
  rules.progress = [&](std::uint64_t done, std::uint64_t of) {
    if (request.progress) request.progress(done, of);
    if (request.say)
      request.say(StrCat("verifying `", named_input, "`: ", HumanBytes(done), " of ", HumanBytes(of)));
  };
  const Result<VerifyReport> report =
      VerifyArtifact(BuiltinTables(), directory, manifest, rules, request.stop);
  // This is also written after a stop: the next run continues from there.
  if (verified != before)
    if (const Status written = WriteVerified(directory, manifest, verified, request.stop); !written.ok())
      note(StrCat("`", named_input,
                  "`: the list of verified objects cannot be written, and all are read again next time: ",
                  written.message()));
  if (!report.ok()) return report.status();
  RETURN_IF_ERROR(CheckReport(named_input, uri, *report));
  note(Summary(named_input, *report));
  return {};
}

}  // namespace pipeline
