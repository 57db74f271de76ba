#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "storage/remote/listing.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// A person waits: a network that is down must be reported before minutes pass.
constexpr RetryPolicy kBrief{.first = std::chrono::milliseconds(500),
                             .longest = std::chrono::milliseconds(4'000),
                             .attempts = 4,
                             .patience = std::chrono::milliseconds(15'000)};

std::string LineOf(const Listed& listed, bool is_long) {
  if (!is_long) return StrCat(listed.location, "\n");
  const std::string size = listed.is_directory ? "-" : std::to_string(listed.size);
  return StrCat(size, "\t", listed.crc32c ? Hex32(*listed.crc32c) : "-", "\t", listed.location, "\n");
}

struct LsOptions {
  std::vector<std::string> locations;
  bool is_long = false;  // sizes and checksums
  bool recursive = false;
};

int List(const LsOptions& options) {
  SignalWatch signals;
  const Attendance attendance(signals.token());
  for (const std::string& target : options.locations)
    if (const Result<Uri> location = Uri::Parse(target); !location.ok()) return Refuse(location.status());
  StoreOptions opening;
  opening.means.policy = kBrief;
  StoreOpener stores(opening);
  Output out(STDOUT_FILENO);
  int exit_code = kExitDone;
  for (const std::string& target : options.locations) {
    const auto print = [&](const Listed& listed) {
      if (!listed.no_object.empty()) {
        LogWarning(StrCat(listed.location, ": is not listed: ", listed.no_object));
        return Status();
      }
      out.Write(LineOf(listed, options.is_long));
      return out.open() ? Status() : Status(Code::kCancelled, "nobody reads");
    };
    const Status listing = ListLocation(
        stores, target, options.recursive ? ListDepth::kAll : ListDepth::kLevel, print, signals.token());
    if (signals.exit_code() != 0) return signals.exit_code();
    if (!out.open()) break;
    if (listing.ok()) continue;
    LogError(listing.message());
    if (listing.code() != Code::kNotFound)
      exit_code = kExitFailed;
    else if (exit_code == kExitDone)
      exit_code = kExitRefused;
  }
  return FinishOutput(out, exit_code);
}

}  // namespace

Command LsCommand() {
  const auto options = std::make_shared<LsOptions>();
  return {
      .name = "ls",
      .help = "List the objects at places: directories, buckets, one file of a web server",
      .words = {{.value = "PLACE",
                 .help = "A path, gs://BUCKET/PATH or https://HOST/FILE",
                 .required = true,
                 .to = &options->locations},
                {.flags = {"-l", "--long"},
                 .help = "SIZE, CRC32C and PLACE, tabs between them; - if unknown",
                 .to = &options->is_long},
                {.flags = {"-r", "--recursive"},
                 .help = "Every object below, not directories",
                 .to = &options->recursive}},
      .run = [options](const Call&) { return List(*options); },
  };
}

}  // namespace pipeline
