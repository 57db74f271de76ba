#include "cli/commands/doctor_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
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

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/workspace/dictionary_places.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/forecast.h"
#include "dag/plan.h"
#include "stages/lines/dictionary.h"
#include "storage/disk.h"
#include "storage/local_error.h"
#include "storage/remote/gcs/gcs_checkup.h"
#include "storage/remote/http/http_file.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30;
constexpr std::array<std::string_view, 4> kDictionaries = {"ipadic", "unidic", "naist", "ko"};
constexpr RetryPolicy kBrief{.first = std::chrono::milliseconds(200),
                             .longest = std::chrono::milliseconds(1'000),
                             .attempts = 3,
                             .patience = std::chrono::milliseconds(3'000)};
constexpr std::chrono::milliseconds kConnect{5'000}, kStall{15'000};

/// One line per check on standard output. What is warned about meanwhile counts as one, too. Safe from any
/// thread; one per program.
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
    std::fflush(stdout);  // the next check may take its time
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

/// A place, and what is done there.
struct Use {
  Uri location;
  bool writes = false;
  bool is_object = false;
};

Status AddUse(std::vector<Use>& uses, const std::string& location, bool writes, bool is_object) {
  ASSIGN_OR_RETURN(Uri uri, Uri::Parse(location));
  for (Use& known : uses)
    if (known.location == uri && known.is_object == is_object) {
      known.writes = known.writes || writes;
      return {};
    }
  uses.push_back({std::move(uri), writes, is_object});
  return {};
}

// --------------------------------------------------------------------------------------- this machine

/// What a run of the pipeline would add to the disk of its work directory, planned as `run -n` plans it;
/// absent where it cannot be planned yet, which the other checks tell why.
std::optional<std::uint64_t> DiskNeed(const PipelineOptions& options, const LoadedPipeline& loaded,
                                      const std::stop_token& stop) {
  StatusDisplay display(false);
  const LogSink former = SetLogSink([](Level, std::string_view) {});
  const auto need = [&]() -> std::optional<std::uint64_t> {
    const Result<std::unique_ptr<Workspace>> workspace = Workspace::Open(
        WorkPath(options, loaded.spec), Workspace::Access::kLook, display, SourceFiles::Network::kOffline);
    if (!workspace.ok()) return std::nullopt;
    const Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded.graph, stop);
    if (!snapshot.ok()) return std::nullopt;
    const Result<Plan> plan = MakePlan(loaded.graph, *snapshot, {});
    if (!plan.ok()) return std::nullopt;
    const std::uint64_t bytes = ForecastOf(loaded.graph, *plan, *snapshot, ThreadCount()).peak_disk_bytes;
    return bytes == 0 && !plan->nothing_to_do() ? std::nullopt : std::optional(bytes);  // no size is known
  }();
  SetLogSink(former);
  return need;
}

/// Whether the directory can be written to, or made, and how much fits. `need`: of a run, where that is
/// known.
void CheckDirectory(const std::string& what, const std::string& path, std::optional<std::uint64_t> need,
                    CheckPrinter& printer) {
  std::error_code ignored;  // then it is looked at further up
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

/// What the stages of a file need of this machine; adds the places that they name.
void CheckStages(const LoadedPipeline& loaded, std::vector<Use>& uses, CheckPrinter& printer) {
  for (const Node& node : loaded.graph.nodes()) {
    const StageSpec& spec = *node.spec;
    const std::string stage = StrCat("stage '", spec.name, "'");
    const auto tell = [&](Status status, std::string_view good) {
      printer.Print(std::move(status).Annotate(stage), StrCat(stage, ": ", good));
    };
    if (spec.type->prepare) tell(spec.type->prepare(spec.config), "has what it needs of this machine");
    if (spec.type->files) tell(spec.type->files(spec.config).status(), "its files are here");
    if (spec.type->local_inputs) {
      const Result<std::vector<LocalInput>> inputs = spec.type->local_inputs(spec.config);
      if (!inputs.ok()) tell(inputs.status(), "");
      for (const LocalInput& input : inputs.ok() ? *inputs : std::vector<LocalInput>()) {
        std::vector<std::string> addresses = input.mirrors;
        addresses.insert(addresses.begin(), input.path);
        for (const std::string& address : addresses)
          if (const Status added = AddUse(uses, address, false, true); !added.ok()) tell(added, "");
      }
    }
    for (const NamedInputEdge& named_input : node.named_inputs)
      if (!named_input.file.empty())
        if (const Status added = AddUse(uses, named_input.file, false, true); !added.ok()) tell(added, "");
    if (!spec.out.empty())
      if (const Status added = AddUse(uses, spec.out, true, false); !added.ok()) tell(added, "");
  }
}

// --------------------------------------------------------------------------------------- places

void CheckHere(const Use& use, CheckPrinter& printer) {
  if (!use.is_object) return CheckDirectory("directory", use.location.path, std::nullopt, printer);
  std::error_code error;
  const std::uint64_t size = fs::file_size(use.location.path, error);
  if (error) return printer.Print(LocalError(use.location.path, "cannot be read", error.value()), "");
  if (access(use.location.path.c_str(), R_OK) != 0)
    return printer.Print(LocalError(use.location.path, "cannot be read", errno), "");
  printer.Print(CheckLevel::kOk, StrCat(use.location.path, ": ", HumanBytes(size)));
}

void CheckWeb(const Use& use, CheckPrinter& printer, const std::stop_token& stop) {
  const std::string url = use.location.ToString();
  if (use.writes)
    return printer.Print(
        CheckLevel::kWrong,
        StrCat(ShownUrl(url), ": cannot be written to; name a directory or gs://BUCKET/PATH"));
  RetryMeans means;
  means.policy = kBrief;
  const Result<std::unique_ptr<HttpFile>> file = HttpFile::Open(
      NewHttpClient({.connect = kConnect, .stall = kStall, .ca_file = FindCaFile(ProcessEnvironment())}), url,
      {means}, stop);
  const EncodedBody* const encoded = file.status().Detail<EncodedBody>();  // a run decodes it
  printer.Print(file.ok() || encoded != nullptr ? Status() : file.status(),
                encoded != nullptr
                    ? StrCat(ShownUrl(url), ": is sent encoded (", encoded->facts.coding, ")")
                    : StrCat(ShownUrl(url), ": ", HumanBytes(file.ok() ? (*file)->size() : 0)));
}

/// Each bucket once, and its objects.
void CheckBuckets(const std::vector<Use>& uses, CheckPrinter& printer, const std::stop_token& stop) {
  const bool needed = !uses.empty();  // else nobody said that there is a bucket to work with
  const auto tell = [&](CheckLevel level, const std::string& line) {
    printer.Print(needed ? level : std::min(level, CheckLevel::kWarning), line);
  };
  GcsCheckup checkup(ProcessEnvironment(), OwnSpool(ProcessEnvironment()), tell, stop);
  if (!checkup.CheckIdentity()) return;
  std::map<std::string, const Use*> buckets;  // the place where it is written to, if there is one
  for (const Use& use : uses) {
    if (use.location.scheme != Uri::Scheme::kGs) continue;
    const Use*& chosen = buckets[use.location.authority];
    if (chosen == nullptr || (use.writes && !chosen->writes)) chosen = &use;
  }
  for (const auto& [bucket, use] : buckets) {
    Uri location = use->location;
    if (use->is_object)
      location.path = location.path.substr(0, location.path.size() - location.LastPart().size());
    while (!location.path.empty() && location.path.back() == '/') location.path.pop_back();
    checkup.CheckBucket(location, use->writes ? GcsCheckup::Use::kWrite : GcsCheckup::Use::kRead);
  }
  for (const Use& use : uses)
    if (use.location.scheme == Uri::Scheme::kGs && use.is_object &&
        use.location.path.find_first_of("*?") == std::string::npos)
      checkup.CheckObject(use.location);
}

bool IsPipelineFile(std::string_view target) {
  return !IsRemote(target) && (target.ends_with(".yaml") || target.ends_with(".yml"));
}

struct DoctorOptions {
  PipelineOptions pipeline;
  std::vector<std::string> locations;  // or a pipeline file
};

int Diagnose(const DoctorOptions& options) {
  SignalWatch signals;
  std::vector<Use> uses;
  std::unique_ptr<LoadedPipeline> loaded;
  for (const std::string& target : options.locations) {
    if (IsPipelineFile(target)) {
      if (loaded) {
        LogError(StrCat(target, ": a second pipeline file; name one"));
        return kExitRefused;
      }
      PipelineOptions with_file = options.pipeline;
      with_file.file = target;
      loaded = LoadPipeline(with_file, LoadPurpose::kCheck);
      if (!loaded) return kExitRefused;
      continue;
    }
    const Result<Uri> location = Uri::Parse(target);
    std::error_code ignored;
    const bool here = location.ok() && location->scheme == Uri::Scheme::kFile;
    const bool is_object = here ? fs::is_regular_file(location->path, ignored)
                                : location.ok() && location->scheme != Uri::Scheme::kGs;
    if (const Status added = AddUse(uses, target, !is_object, is_object); !added.ok()) {
      LogError(added.message());
      return kExitRefused;
    }
  }
  const std::optional<std::uint64_t> need =
      loaded ? DiskNeed(options.pipeline, *loaded, signals.token()) : std::nullopt;
  if (signals.exit_code() != 0) return signals.exit_code();
  CheckPrinter printer;
  if (loaded) {
    const std::string work = WorkPath(options.pipeline, loaded->spec);
    CheckDirectory("work directory", work, need, printer);
    if (const auto limit = loaded->spec.disk_limit; limit && need && *need > *limit)
      printer.Print(CheckLevel::kWrong,
                    StrCat("limits.disk of ", HumanBytes(*limit), " cannot hold the about ",
                           HumanBytes(*need), " that a run takes at its peak; raise it"));
    CheckStages(*loaded, uses, printer);
  } else if (uses.empty()) {
    CheckDirectory("work directory", options.pipeline.work.empty() ? ".pipe" : options.pipeline.work,
                   std::nullopt, printer);
    CheckDictionaries(printer);
  }
  bool any_bucket = uses.empty() && !loaded;
  for (const Use& use : uses) {
    if (signals.exit_code() != 0) return signals.exit_code();
    any_bucket = any_bucket || use.location.scheme == Uri::Scheme::kGs;
    if (use.location.scheme == Uri::Scheme::kFile) CheckHere(use, printer);
    if (use.location.scheme == Uri::Scheme::kHttp || use.location.scheme == Uri::Scheme::kHttps)
      CheckWeb(use, printer, signals.token());
  }
  if (any_bucket) CheckBuckets(uses, printer, signals.token());
  if (signals.exit_code() != 0) return signals.exit_code();
  return printer.any_wrong() ? kExitFailed : kExitDone;
}

}  // namespace

Command DoctorCommand() {
  const auto options = std::make_shared<DoctorOptions>();
  return {
      .name = "doctor",
      .help = "Check credentials, buckets and this machine, and say what mends what is wrong",
      .words = Joined({{.value = "PLACE",
                        .help = "Places to read and write, or the pipeline file that names them",
                        .to = &options->locations}},
                      PipelineFlags(options->pipeline)),
      .run = [options](const Call&) { return Diagnose(*options); },
  };
}

}  // namespace pipeline
