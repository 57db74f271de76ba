#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/pipeline_words.h"
#include "cli/workspace/program_places.h"
#include "cli/workspace/workspace.h"
#include "dag/forecast/forecast.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/planner.h"
#include "stages/lines/dictionary.h"
#include "storage/directory.h"
#include "storage/local_error.h"
#include "storage/remote/remote_schemes.h"
#include "storage/remote/scheme/checkup.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30;
constexpr std::array<std::string_view, 4> kDictionaries = {"ipadic", "unidic", "naist", "ko"};

/// Prints one line per check to standard output. Warnings and errors meanwhile are printed as checks, too.
/// Safe from any thread; one per program.
class CheckPrinter {
 public:
  CheckPrinter() {
    former_ = SetLogSink([this](Level level, std::string_view message) {
      if (level != Level::kInfo)
        Print(level == Level::kError ? CheckLevel::kWrong : CheckLevel::kWarning, message);
    });
  }
  ~CheckPrinter() { SetLogSink(std::move(former_)); }
  CheckPrinter(const CheckPrinter&) = delete;
  CheckPrinter& operator=(const CheckPrinter&) = delete;

  void Print(CheckLevel level, std::string_view line) {
    constexpr std::array<std::string_view, 3> kWords = {"ok       ", "warning  ", "wrong    "};
    const std::string text = StrCat(kWords[static_cast<std::size_t>(level)], TerminalText(line), "\n");
    const Lock lock(mutex_);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);  // the next check may take long
    any_wrong_ = any_wrong_ || level == CheckLevel::kWrong;
  }
  void Print(const Status& status, std::string_view good) {
    Print(status.ok() ? CheckLevel::kOk : CheckLevel::kWrong, status.ok() ? good : status.message());
  }
  bool any_wrong() const {
    const Lock lock(mutex_);
    return any_wrong_;
  }

 private:
  LogSink former_;
  mutable Mutex mutex_;
  bool any_wrong_ GUARDED_BY(mutex_) = false;
};

Status AddUse(std::vector<LocationUse>& uses, const std::string& location, bool writes, bool is_object) {
  ASSIGN_OR_RETURN(Uri uri, Uri::Parse(location));
  for (LocationUse& known : uses)
    if (known.location == uri && known.is_object == is_object) {
      known.writes = known.writes || writes;
      return {};
    }
  uses.push_back({std::move(uri), writes, is_object});
  return {};
}

// --------------------------------------------------------------------------------------- this machine

/// Returns the bytes that a run of the pipeline would add to the disk of its work directory, planned as by
/// `run -n`. Absent: it cannot be planned yet, or no size is known; the other checks tell why.
std::optional<std::uint64_t> DiskNeed(const PipelineOptions& options, LoadedPipeline& loaded,
                                      const std::stop_token& stop) {
  StatusDisplay display(false);
  const LogSink former = SetLogSink([](Level, std::string_view) {});
  const auto need = [&]() -> std::optional<std::uint64_t> {
    const Result<std::unique_ptr<Workspace>> workspace =
        Workspace::Open(WorkPlaceOf(options, loaded.spec), Workspace::Access::kLook, display,
                        SourceFiles::Network::kOffline, stop);
    if (!workspace.ok()) return std::nullopt;
    const Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded.graph, loaded.spec, stop);
    if (!snapshot.ok()) return std::nullopt;
    const Result<Plan> plan = MakePlan(loaded.graph, *snapshot, StoredIn((*workspace)->environment()), {});
    if (!plan.ok()) return std::nullopt;
    RunOptions run_options;
    run_options.threads = ThreadCount();
    const std::uint64_t bytes = ForecastOf(loaded.graph, *plan, *snapshot, run_options).peak_disk_bytes;
    return bytes == 0 && !plan->nothing_to_do() ? std::nullopt : std::optional(bytes);  // no size is known
  }();
  SetLogSink(former);
  return need;
}

/// Checks whether the directory can be written to or made, and its free space. `need`: the bytes that a run
/// needs. Absent: unknown.
void CheckDirectory(const std::string& what, const std::string& path, std::optional<std::uint64_t> need,
                    CheckPrinter& printer) {
  std::error_code ignored;  // then the directories above are tried
  fs::path there = fs::absolute(path, ignored);
  while (there.has_relative_path() && !fs::exists(there, ignored)) there = there.parent_path();
  if (!fs::is_directory(there, ignored))
    return printer.Print(CheckLevel::kWrong, StrCat(there.string(), ": is no directory; name another place"));
  if (access(there.c_str(), W_OK | X_OK) != 0)
    return printer.Print(LocalError(there.string(), "cannot be written to", errno), "");
  const Result<std::uint64_t> free = FreeBytes(path);
  if (!free.ok()) return printer.Print(free.status(), "");
  const std::string line = StrCat(what, " ", path, ": ", HumanBytes(*free), " free");
  if (*free < need.value_or(kLittleDisk))
    return printer.Print(CheckLevel::kWarning,
                         StrCat(line, " where ", need ? "about " : "", HumanBytes(need.value_or(kLittleDisk)),
                                " may be needed; free some, or name another place"));
  printer.Print(CheckLevel::kOk, need ? StrCat(line, ", about ", HumanBytes(*need), " needed") : line);
}

void CheckDictionaries(CheckPrinter& printer) {
  bool any = false;
  const DictionaryPlaces locations = FindDictionaryPlaces();
  for (const std::string_view name : kDictionaries) {
    const Result<std::string> found = FindDictionary(name, locations);
    if (found.ok()) printer.Print(CheckLevel::kOk, StrCat("dictionary ", name, ": ", *found));
    any = any || found.ok();
  }
  if (!any)
    printer.Print(CheckLevel::kWarning,
                  StrCat("dictionaries: there is none, and segment_words needs one; run: ",
                         HowToInstall(kDictionaries.front())));
}

/// Checks that this machine has the things that the stages need, and adds the locations that the stages name.
void CheckStages(const LoadedPipeline& loaded, std::vector<LocationUse>& uses, CheckPrinter& printer) {
  for (const Node& node : loaded.graph.nodes()) {
    const StageSpec& spec = *node.spec;
    const std::string stage = StrCat("stage '", spec.name, "'");
    const auto tell = [&](Status status, std::string_view good) {
      printer.Print(std::move(status).Annotate(stage), StrCat(stage, ": ", good));
    };
    const auto note_use = [&](const std::string& location, bool writes) {
      if (const Status added = AddUse(uses, location, writes, !writes); !added.ok()) tell(added, "");
    };
    if (spec.type->prepare) tell(spec.type->prepare(spec.config), "this machine has all that it needs");
    if (spec.type->files) tell(spec.type->files(spec.config).status(), "its files are here");
    if (const FileListKind* list = spec.type->file_list()) {
      const Result<std::vector<LocalInput>> inputs = list->local_inputs(spec.config);
      if (!inputs.ok()) tell(inputs.status(), "");
      for (const LocalInput& input : inputs.ok() ? *inputs : std::vector<LocalInput>()) {
        note_use(input.path, false);
        for (const std::string& mirror : input.mirrors) note_use(mirror, false);
      }
    }
    for (const NamedInputEdge& named_input : node.named_inputs) {
      const Result<std::vector<std::string>> files = named_input.Files();
      if (!files.ok()) tell(files.status(), "");
      for (const std::string& file : files.ok() ? *files : std::vector<std::string>()) note_use(file, false);
    }
    if (!spec.out.empty()) note_use(spec.out, true);
  }
}

// ------------------------------------------------------------------------------------- locations

void CheckHere(const LocationUse& use, CheckPrinter& printer) {
  if (!use.is_object) return CheckDirectory("directory", use.location.path, std::nullopt, printer);
  std::error_code error;
  const std::uint64_t size = fs::file_size(use.location.path, error);
  if (error) return printer.Print(LocalError(use.location.path, "cannot be read", error.value()), "");
  if (access(use.location.path.c_str(), R_OK) != 0)
    return printer.Print(LocalError(use.location.path, "cannot be read", errno), "");
  printer.Print(CheckLevel::kOk, StrCat(use.location.path, ": ", HumanBytes(size)));
}

/// Returns the forms of writable locations: "a directory or gs://BUCKET/PATH".
std::string WritableForms() {
  std::vector<std::string> forms = {"a directory"};
  for (const RemoteScheme* scheme : RemoteSchemes())
    if (scheme->writable) forms.push_back(StrCat(scheme->name, "://BUCKET/PATH"));
  return Enumeration(forms, "or");
}

/// The checks of remote locations.
class RemoteChecks {
 public:
  RemoteChecks(CheckTeller tell, std::stop_token stop) : tell_(std::move(tell)), stop_(std::move(stop)) {}

  void Check(const LocationUse& use) {
    if (use.writes && !use.location.scheme->writable)
      return tell_(CheckLevel::kWrong, StrCat(ShownUrl(use.location.ToString()),
                                              ": cannot be written to; name ", WritableForms()));
    CheckupOf(RemoteSchemeOf(use.location)).Check(use);
  }
  /// `all`: finishes schemes that no location had, too.
  void Finish(bool all) {
    for (const RemoteScheme* scheme : RemoteSchemes())
      if (all || checkups_.contains(scheme)) CheckupOf(*scheme).Finish();
  }

 private:
  Checkup& CheckupOf(const RemoteScheme& scheme) {
    std::unique_ptr<Checkup>& checkup = checkups_[&scheme];
    if (checkup == nullptr) checkup = scheme.check(tell_, stop_);
    return *checkup;
  }

  const CheckTeller tell_;
  const std::stop_token stop_;
  std::map<const RemoteScheme*, std::unique_ptr<Checkup>> checkups_;
};

bool IsPipelineFile(std::string_view target) {
  return !IsRemote(target) && (target.ends_with(".yaml") || target.ends_with(".yml"));
}

struct DoctorOptions {
  PipelineOptions pipeline;
  std::vector<std::string> locations;  // or a pipeline file
};

int Diagnose(const DoctorOptions& options) {
  SignalWatch signals;
  const Attendance attendance(signals.token());
  std::vector<LocationUse> uses;
  std::unique_ptr<LoadedPipeline> loaded;
  for (const std::string& target : options.locations) {
    if (IsPipelineFile(target)) {
      if (loaded) return Refuse(StrCat(target, ": a second pipeline file; name one"));
      PipelineOptions with_file = options.pipeline;
      with_file.file = target;
      loaded = LoadPipeline(with_file, LoadPurpose::kCheck);
      if (!loaded) return kExitRefused;
      continue;
    }
    const Result<Uri> location = Uri::Parse(target);
    std::error_code ignored;
    const bool here = location.ok() && location->is_local();
    const bool is_object =
        here ? fs::is_regular_file(location->path, ignored) : location.ok() && !location->scheme->lists;
    const bool writes = !is_object && location.ok() && location->scheme->writable;
    if (const Status added = AddUse(uses, target, writes, is_object); !added.ok()) return Refuse(added);
  }
  std::optional<WorkPlace> place;
  if (loaded) place = WorkPlaceOf(options.pipeline, loaded->spec);
  // Most of the bytes that a run writes go to its home.
  const std::optional<std::uint64_t> need =
      place && !place->is_remote() ? DiskNeed(options.pipeline, *loaded, signals.token()) : std::nullopt;
  if (signals.exit_code() != 0) return signals.exit_code();
  CheckPrinter printer;
  if (loaded) {
    CheckDirectory(place->is_remote() ? "scratch" : "work directory", place->directory().path(), need,
                   printer);
    if (place->is_remote())
      if (const Status added = AddUse(uses, place->home, true, false); !added.ok())
        printer.Print(CheckLevel::kWrong, added.message());
    if (const auto limit = loaded->spec.disk_limit; limit && need && *need > *limit)
      printer.Print(CheckLevel::kWrong,
                    StrCat("limits.disk of ", HumanBytes(*limit), " is too small: a run takes about ",
                           HumanBytes(*need), " at its peak; raise it"));
    CheckStages(*loaded, uses, printer);
  } else if (uses.empty()) {
    const std::string work = options.pipeline.work.empty() ? ".pipe" : options.pipeline.work;
    if (!IsRemote(work))
      CheckDirectory("work directory", work, std::nullopt, printer);
    else if (const Status added = AddUse(uses, work, true, false); !added.ok())
      printer.Print(CheckLevel::kWrong, added.message());
    CheckDictionaries(printer);
  }
  // If no location is named, nothing says that there is a server to work with.
  const bool named_any = !uses.empty();
  const auto tell = [&](CheckLevel level, const std::string& line) {
    printer.Print(named_any ? level : std::min(level, CheckLevel::kWarning), line);
  };
  RemoteChecks remote(tell, signals.token());
  for (const LocationUse& use : uses) {
    if (signals.exit_code() != 0) return signals.exit_code();
    if (use.location.is_local())
      CheckHere(use, printer);
    else
      remote.Check(use);
  }
  remote.Finish(!named_any && !loaded);
  if (signals.exit_code() != 0) return signals.exit_code();
  return printer.any_wrong() ? kExitFailed : kExitDone;
}

}  // namespace

Command DoctorCommand() {
  const auto options = std::make_shared<DoctorOptions>();
  return {
      .name = "doctor",
      .help = "Check credentials, buckets and this machine, and name a remedy for each fault",
      .words = Joined({{.value = "PLACE",
                        .help = "Places to read and write, or the pipeline file that names them",
                        .to = &options->locations}},
                      PipelineFlags(options->pipeline)),
      .run = [options](const Call&) { return Diagnose(*options); },
  };
}

}  // namespace pipeline
