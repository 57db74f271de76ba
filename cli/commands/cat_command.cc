#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_reader.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"

namespace pipeline {

namespace {

struct CatOptions {
  std::vector<std::string> targets;  // artifacts or objects
  bool json = false;
  std::uint64_t limit = UINT64_MAX;
};

int Cat(const CatOptions& options) {
  const Attendance attendance({});
  signal(SIGPIPE, SIG_IGN);  // `| head` is an error of write, not the end of the process
  std::vector<CatObject> objects;
  for (const std::string& target : options.targets) {
    Result<std::vector<CatObject>> found = FindCatObjects(target);
    if (!found.ok()) {
      LogError(found.status().message());
      return found.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
    }
    std::move(found->begin(), found->end(), std::back_inserter(objects));
  }
  Output out(STDOUT_FILENO);
  RecordPrinter printer(out, options.json, options.limit);
  Status status;
  for (const CatObject& object : objects) {
    if (printer.done() || !status.ok()) break;
    status = PrintObject(object, printer);
  }
  const Status written = out.Finish();  // before the error, so that the readable records come first
  if (!status.ok()) LogError(status.message());
  if (!written.ok()) LogError(written.message());
  return status.ok() && written.ok() ? kExitDone : kExitFailed;
}

}  // namespace

Command CatCommand() {
  const auto options = std::make_shared<CatOptions>();
  return {
      .name = "cat",
      .help = "Print the records of an artifact or of one of its objects",
      .words = {{.value = "WHAT",
                 .help =
                     "Directory of an artifact or quarantine; a shard; a .part, .spill, .jsonl or run.log of "
                     "a work directory; any text that a run reads; anywhere",
                 .required = true,
                 .to = &options->targets},
                {.flags = {"--json"},
                 .help = "A JSON object per record, with all columns; without it a line end is \\n",
                 .to = &options->json},
                {.flags = {"-l", "--limit"},
                 .value = "N",
                 .help = "Print at most N records",
                 .to = &options->limit}},
      .run = [options](const Call&) { return Cat(*options); },
  };
}

}  // namespace pipeline
