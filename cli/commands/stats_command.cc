#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/cat_target.h"
#include "cli/commands/commands.h"
#include "cli/commands/count_object.h"
#include "cli/commands/export_stats.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output.h"
#include "cli/workspace/artifact_location.h"
#include "text/unicode.h"

namespace pipeline {

namespace {

/// Adds the documents from the manifest of an artifact, because shards tell only records.
void AddDocumentsOf(const std::string& location, ExportStats& stats) {
  const Result<ArtifactLocation> opened = OpenArtifactLocation(location);
  if (!opened.ok()) return;
  const Result<Manifest> manifest = ReadManifestOf(*opened, {});
  if (!manifest.ok()) return;
  for (const auto& [name, split] : manifest->splits)
    if (split.documents > 0) stats.AddDocuments(split.documents);
}

/// Removes the tokenizer beside ids: a model, or a vocabulary as text.
std::vector<CatObject> Exports(std::vector<CatObject> objects) {
  const ObjectKind first = objects.front().kind;
  std::erase_if(objects, [first](const CatObject& object) {
    return object.kind != first &&
           (object.kind == ObjectKind::kTokenizer || object.kind == ObjectKind::kText);
  });
  return objects;
}

struct StatsOptions {
  std::string target;  // an artifact or one object
  bool json = false;
};

int PrintStats(const StatsOptions& options) {
  const Attendance attendance({});
  signal(SIGPIPE, SIG_IGN);  // `| head` is an error of write, not the end of the process
  Result<std::vector<CatObject>> objects = FindCatObjects(options.target);
  if (!objects.ok()) {
    LogError(objects.status().message());
    return objects.status().code() == Code::kDataLoss ? kExitFailed : kExitRefused;
  }
  const CharacterClasses classes = UnicodeClasses();
  ExportStats stats(classes);
  if (!objects->empty()) objects = Exports(std::move(objects).value());
  for (const CatObject& object : *objects) {
    const Status status = CountObject(object, stats);
    if (status.ok()) continue;
    LogError(status.message());  // a part of the numbers would look like the whole
    return status.code() == Code::kInvalidArgument ? kExitRefused : kExitFailed;
  }
  if (!stats.knows_documents()) AddDocumentsOf(options.target, stats);
  Output out(STDOUT_FILENO);
  out.Write(options.json ? StrCat(stats.ToJson().Dump(), "\n") : stats.ToText());
  const Status written = out.Finish();
  if (!written.ok()) LogError(written.message());
  return written.ok() ? kExitDone : kExitFailed;
}

}  // namespace

Command StatsCommand() {
  const auto options = std::make_shared<StatsOptions>();
  return {
      .name = "stats",
      .help = "Say how many records, documents, characters and ids an artifact has, and how long they are",
      .words = {{.value = "WHAT",
                 .help =
                     "Directory of an artifact, one of its shards or partition files, or a file of text or "
                     "JSON Lines",
                 .required = true,
                 .to = &options->target},
                {.flags = {"--json"}, .help = "As JSON, with every count", .to = &options->json}},
      .run = [options](const Call&) { return PrintStats(*options); },
  };
}

}  // namespace pipeline
