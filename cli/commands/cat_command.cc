#include "cli/commands/cat_command.h"

#include <signal.h>
#include <unistd.h>

#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_reader.h"
#include "cli/commands/cat_target.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"

namespace pipeline {

int CatCommand(const Options& options) {
  signal(SIGPIPE, SIG_IGN);  // `| head` is an error of write, not the end
  const Result<std::vector<CatObject>> objects = FindCatObjects(options.target);
  if (!objects.ok()) {
    LogError(objects.status().message());
    return objects.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
  }
  Output out(STDOUT_FILENO);
  RecordPrinter printer(out, options.json, options.limit);
  Status status;
  for (const CatObject& object : *objects) {
    if (printer.done() || !status.ok()) break;
    status = PrintObject(object, printer);
  }
  const Status written = out.Finish();  // before the error: what could be read comes first
  if (!status.ok()) LogError(status.message());
  if (!written.ok()) LogError(written.message());
  return status.ok() && written.ok() ? kExitDone : kExitFailed;
}

}  // namespace pipeline
