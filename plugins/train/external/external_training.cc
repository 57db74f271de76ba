#include "plugins/train/external/external_training.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/environment/environment_setup.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/external/left_processes.h"
#include "plugins/train/external/preset_expansion.h"
#include "plugins/train/external/presets.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"
#include "plugins/train/slice/own_address.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExport = "export";
constexpr const char* kNewExport = "export.part";
constexpr const char* kEarlierExport = "export.earlier.json";
constexpr std::uint64_t kMostResult = 64 << 20;
// From SIGTERM to SIGKILL for a process whose trainer has ended.
constexpr std::chrono::seconds kLeft{10}, kLeftAfterStop{2};

std::string InheritedPath() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (const std::string_view text = *variable; text.starts_with("PATH="))
      return std::string(text.substr(5));
  return {};
}

std::string BinOf(const std::string& environment) { return AbsolutePath(environment + "/bin"); }

bool IsProgram(const std::string& path) {
  std::error_code error;
  return access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error);
}

/// Names, lengths and checksums of all files there.
Result<Json> Measured(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(directory));
  ASSIGN_OR_RETURN(const std::vector<FileFacts> measured, MeasureFiles(directory, files));
  return FilesToJson(measured);
}

/// True if the pattern names the file or a directory above it.
bool Names(std::string_view pattern, std::string_view file) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = file.find('/', end + 1);
    if (MatchesPattern(pattern, file.substr(0, end))) return true;
  }
  return false;
}

}  // namespace

Status CheckProgram(const std::string& environment, const std::string& program) {
  std::error_code error;
  if (!fs::is_regular_file(environment, error)) return FindProgram(environment, program).status();
  ASSIGN_OR_RETURN(const std::string directory, LockedDirectory(environment));
  return ReadMark(directory).extra == kLocked ? FindProgram(directory, program).status() : Status();
}

Result<std::string> FindProgram(const std::string& environment, const std::string& program) {
  const auto missing = [](std::string why) { return Status(Code::kFailedPrecondition, std::move(why)); };
  std::error_code error;
  if (!environment.empty() && !fs::is_directory(environment + "/bin", error))
    return missing(StrCat("environment: ", environment,
                          "/bin is no directory; name the directory above `bin`, "
                          "or leave the key out to use the programs of this machine"));
  if (program.find('/') != std::string::npos) {
    if (IsProgram(program)) return program;
    return missing(StrCat("command: ", program, " is no program that can be run"));
  }
  std::string path = environment.empty() ? std::string() : BinOf(environment) + ":";
  path += InheritedPath();
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string found = StrCat(rest.substr(0, colon), "/", program);
    if (colon != 0 && IsProgram(found)) return found;
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return missing(StrCat("command: there is no program ", program, " in PATH",
                        environment.empty() ? "; install it, or name its directory in `environment`"
                                            : StrCat(" and none in ", environment, "/bin")));
}

Result<std::string> CheckCheckout(const Json& settings) {
  bool used = false;
  for (const Json& word : settings["command"].AsArray())
    for (const std::string& name : PlaceholdersIn(word.AsString())) used |= name == "checkout";
  const std::string checkout(settings["checkout"].AsString());
  if (!used) return std::string();
  std::error_code error;
  if (checkout.empty() || !fs::is_directory(checkout, error)) {
    const std::string clone = HowToClone(settings, checkout);
    return Status(Code::kFailedPrecondition,
                  StrCat("checkout: ",
                         checkout.empty() ? "`command` has {checkout}; name its directory"
                                          : StrCat(checkout, " is no directory"),
                         clone.empty() ? std::string() : StrCat(": ", clone)));
  }
  // A detached HEAD, as `git checkout COMMIT` leaves it, holds the commit itself.
  const Json& preset = PresetNamed(settings["trainer"].AsString());
  const std::string_view commit = preset["commit"].AsString();
  std::string head;
  if (preset.is_null() || !std::getline(std::ifstream(checkout + "/.git/HEAD"), head) || head == commit)
    return std::string();
  return StrCat("checkout: ", checkout, " is not at ", commit, ", for which the preset ",
                settings["trainer"].AsString(), " is made; `git -C ", checkout, " checkout ", commit, "`");
}

Result<std::unique_ptr<ExternalTraining>> ExternalTraining::Make(const TrainJob& job,
                                                                 const RunDirectory& directory,
                                                                 const PluginServices& call) {
  ASSIGN_OR_RETURN(ExternalSettings settings, ParseExternal(job.settings));
  std::string environment = job.environment();
  if (std::error_code error; fs::is_regular_file(environment, error)) {
    ASSIGN_OR_RETURN(environment, SetUpLocked(environment, call));
  }
  RETURN_IF_ERROR(FindProgram(environment, settings.command.front()).status());
  RETURN_IF_ERROR(CheckCheckout(job.settings).status());
  std::unique_ptr<ExternalTraining> training(
      new ExternalTraining(job, directory, call, std::move(settings), std::move(environment)));
  if (job.position.host == 0) RETURN_IF_ERROR(training->RememberExport());
  return training;
}

ExternalTraining::ExternalTraining(const TrainJob& job, const RunDirectory& directory,
                                   const PluginServices& call, ExternalSettings settings,
                                   std::string environment)
    : job_(job),
      directory_(directory),
      call_(call),
      settings_(std::move(settings)),
      environment_(std::move(environment)) {
  if (settings_.checkpoint)
    checkpoints_.emplace(*settings_.checkpoint, settings_.settle, directory_, call_,
                         ProgramPlace{.directory = Place(), .copies = !shared()});
}

std::string ExternalTraining::Place() const {
  // In a directory in which several hosts have trained, a single one has its own run directory elsewhere.
  if (settings_.shared && !IsElsewhere(job_.run_uri)) return StrCat(job_.run_uri, "/", kProgramDirectory);
  return directory_.Path(kProgramDirectory);
}

Result<std::int64_t> ExternalTraining::BeginCheckpoints(const JointAttempt* joint) {
  const ProgramCheckpoints::Time now = SystemClock().Monotonic();
  const bool leads = job_.position.host == 0;
  if (!checkpoints_ || (shared() && !leads)) return -1;
  if (joint != nullptr && !shared()) {
    RETURN_IF_ERROR(checkpoints_->BeginAttemptAt(joint->step, leads, now));
    return joint->step;
  }
  ASSIGN_OR_RETURN(const std::optional<std::int64_t> restored,
                   shared() ? checkpoints_->BeginWatching(now) : checkpoints_->BeginAttempt(now));
  return restored.value_or(-1);
}

Result<ProgramStart> ExternalTraining::Begin(std::int64_t attempt, const JointAttempt* joint) {
  program_.reset();
  RETURN_IF_ERROR(EndLeft());
  const std::string place = Place();
  std::error_code error;
  fs::create_directories(place, error);
  if (error) return SystemError(place, error.value());
  JointAttempt alone{.address = "127.0.0.1"};
  if (joint == nullptr) {
    ASSIGN_OR_RETURN(alone.port, FreePort(true));
  }
  ASSIGN_OR_RETURN(const PlaceholderValues values, Values(place, joint != nullptr ? *joint : alone));
  RETURN_IF_ERROR(LayOut(place, values));
  ASSIGN_OR_RETURN(const std::int64_t restored, BeginCheckpoints(joint));
  before_.clear();
  if (!settings_.success.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(place));
    for (const std::string& file : files) before_[file] = LookOfFile(StrCat(place, "/", file)).value_or("");
  }
  ProgramStart start;
  for (const std::string& word : settings_.command)
    start.command.argv.push_back(FillPlaceholders(word, values));
  ASSIGN_OR_RETURN(start.command.argv.front(), FindProgram(environment_, start.command.argv.front()));
  start.command.directory = FillPlaceholders(settings_.directory, values);
  if (!start.command.directory.empty()) start.command.argv.front() = AbsolutePath(start.command.argv.front());
  start.command.set = {StrCat("PIPE_ATTEMPT=", attempt),
                       StrCat("PIPE_GRACE_S=", job_.grace_or_least().count()), "PYTHONUNBUFFERED=1",
                       StrCat(kRunVariable, "=", RunMark(directory_.Path("")))};
  if (!environment_.empty())
    start.command.set.push_back(StrCat("PATH=", BinOf(environment_), ":", InheritedPath()));
  for (const auto& [name, value] : settings_.variables)
    start.command.set.push_back(StrCat(name, "=", FillPlaceholders(value, values)));
  start.silence = settings_.silence;
  // Those of host 0 count.
  ProgramCheckpoints* const checkpoints = checkpoints_ && job_.position.host == 0 ? &*checkpoints_ : nullptr;
  program_ = std::make_unique<ExternalProgram>(job_, attempt, settings_, place, checkpoints, restored, call_);
  start.source = program_.get();
  return start;
}

Result<PlaceholderValues> ExternalTraining::Values(const std::string& place,
                                                   const JointAttempt& joint) const {
  const std::string checkout(job_.settings["checkout"].AsString());
  // A data set of TFDS is at DIRECTORY/NAME/VERSION.
  const auto above = [](std::string_view path) {
    return std::string(
        path.substr(0, path.find_last_of('/') == std::string_view::npos ? 0 : path.rfind('/')));
  };
  const std::string named = above(job_.data_set_uri), root = above(named);
  return PlaceholderValues{
      {"data", job_.data_dir},
      {"tokenizer", StrCat(job_.tokenizer_dir, "/", job_.tokenizer_file)},
      {"data_set", job_.data_set_uri},
      {"tfds_dir", root},
      {"tfds_name", named.substr(std::min(named.size(), root.size() + 1))},
      {"tfds_version", job_.data_set_uri.substr(std::min(job_.data_set_uri.size(), named.size() + 1))},
      {"checkout", checkout.empty() ? checkout : AbsolutePath(checkout)},
      {"run_dir", place},
      {"steps", StrCat(job_.steps())},
      {"seed", StrCat(job_.settings["seed"].AsInt())},
      {"host", StrCat(job_.position.host)},
      {"hosts", StrCat(job_.position.hosts)},
      {"coordinator", WithPort(joint.address, joint.port)},
      {"coordinator_address", joint.address},
      {"coordinator_port", StrCat(joint.port)}};
}

Status ExternalTraining::LayOut(const std::string& place, const PlaceholderValues& values) const {
  for (const std::string& name : settings_.fresh) RETURN_IF_ERROR(RemoveAll(StrCat(place, "/", name)));
  for (const auto& [name, pattern] : settings_.files) {
    const fs::path to = fs::path(place) / name;
    const std::string from = FillPlaceholders(pattern, values), part = StrCat(to.string(), ".part");
    std::error_code error;
    if (fs::exists(to, error)) continue;
    if (IsElsewhere(from) || !fs::is_regular_file(from, error))
      return Status(Code::kFailedPrecondition,
                    StrCat("files.", name, ": ", from,
                           IsElsewhere(from) ? " is in a bucket, and files are copied "
                                               "from this machine only"
                                             : " is no file"));
    fs::create_directories(to.parent_path(), error);
    if (!error) fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(part, to, error);
    if (error) return SystemError(to.string(), error.value());
  }
  return {};
}

Status ExternalTraining::EndLeft() const {
  const std::chrono::nanoseconds grace = call_.stopped() ? kLeftAfterStop : kLeft;
  return EndLeftProcesses(directory_.Path(""),
                          std::min<std::chrono::nanoseconds>(grace, job_.grace_or_least()), call_);
}

Result<TrainerEnd> ExternalTraining::Judge(TrainerEnd end) const {
  RETURN_IF_ERROR(EndLeft());
  if (end.hung) return end;
  end.fatal = std::find(settings_.fatal.begin(), settings_.fatal.end(), end.code) != settings_.fatal.end();
  end.again = !end.fatal;
  if (end.fatal) end.cause += ", which is in `fatal`";
  if (end.code != 0 || end.signal != 0) return end;
  if (job_.position.host != 0) {  // host 0 has the results
    end.again = end.fatal = false;
    return end;
  }
  ASSIGN_OR_RETURN(std::int64_t done, StepsDone());
  Result<Output> output = FindOutput();
  // A program that had no step left to do may print none.
  if (done < 0 && output.ok()) done = StepsBefore(end, *output);
  Status success = output.ok() ? CheckDone(end, done, *output) : output.status();
  if (success.ok()) success = CopyOutput(*output);
  if (success.ok()) {
    end.again = end.fatal = false;
    TellLosses();
    RETURN_IF_ERROR(WriteResult(done));
    return end;
  }
  if (success.code() != Code::kFailedPrecondition) return success;
  // A program that has done its steps would end in the same way again.
  if (Counted(program_->step()) >= job_.steps()) end.fatal = true, end.again = false;
  end.cause = StrCat("the trainer ended with exit code 0, but ", success.message());
  return end;
}

Result<std::int64_t> ExternalTraining::StepsDone() const {
  if (!settings_.SeesSteps()) return -1;
  std::int64_t last = -1;
  if (checkpoints_) {
    ASSIGN_OR_RETURN(const auto newest, checkpoints_->FindNewest());
    if (newest) last = newest->step;
  }
  if (settings_.success.empty()) return Counted(last);  // a checkpoint is what is published
  return Counted(std::max(last, program_->step()));
}

std::int64_t ExternalTraining::StepsBefore(const TrainerEnd& end, const Output& output) const {
  if (!settings_.SeesSteps() || settings_.success.empty() || end.stopped || !Written(output)) return -1;
  return Counted(LastKept(directory_.Path("events.jsonl")).step);
}

bool ExternalTraining::Written(const Output& output) const {
  return std::any_of(output.files.begin(), output.files.end(), [&](const std::string& file) {
    const auto before = before_.find(file);
    return before == before_.end() || LookOfFile(StrCat(output.from, "/", file)) != before->second;
  });
}

Status ExternalTraining::CheckDone(const TrainerEnd& end, std::int64_t done, const Output& output) const {
  std::string why;
  if (!settings_.SeesSteps()) {
    if (end.stopped)
      why = "it was stopped, and without `recognise` nobody knows whether it was done";
    else if (!Written(output))
      why = StrCat("the files of `success` are those of an earlier attempt; remove them from ", output.from,
                   ", or tell by `recognise.step` how far it is");
  } else if (done < job_.steps() &&
             (end.stopped || !settings_.ends_early || done < 1 ||
              (!settings_.success.empty() && program_->step() < 0 && !Written(output)))) {
    why = settings_.success.empty() ? StrCat("the newest checkpoint is at step ", done)
          : done < 0                ? std::string("no step of it was recognised")
                                    : StrCat("it ended at step ", done);
    why += StrCat(", and ", job_.steps(), " steps were asked for");
    if (!end.stopped)
      why += settings_.first_step == 1 && done + 1 == job_.steps()
                 ? "; if it counts its steps from 0, add `first_step: 0`"
                 : "; see `recognise`, or, if it may end before, add `ends_early: true`";
  }
  return why.empty() ? Status() : Status(Code::kFailedPrecondition, std::move(why));
}

void ExternalTraining::TellLosses() const {
  const OutputRecogniser::Losses& losses = program_->losses();
  if (losses.broken_since >= 0)
    call_.log(Level::kWarning, StrCat(job_.stage, ": the loss is no finite number since step ",
                                      losses.broken_since, "; what is published may be useless"));
  else if (losses.at >= 0 && program_->step() - losses.at > 2 * losses.longest)
    call_.log(Level::kWarning, StrCat(job_.stage, ": no loss was recognised after step ", losses.at,
                                      ", and the last step is ", program_->step(), "; see `recognise.loss`"));
}

Result<ExternalTraining::Output> ExternalTraining::FindOutput() const {
  if (settings_.success.empty()) {
    ASSIGN_OR_RETURN(auto newest, checkpoints_->FindNewest());
    if (!newest)
      return Status(Code::kFailedPrecondition, StrCat("there is no checkpoint, and ", job_.steps(),
                                                      " steps were asked for; see `recognise.checkpoint`"));
    return Output{std::move(newest->from), std::move(newest->files)};
  }
  Output output{Place(), {}};
  ASSIGN_OR_RETURN(const std::vector<std::string> all, FilesBelow(output.from));
  std::set<std::string> named;
  std::string missing;
  for (const std::string& pattern : settings_.success) {
    bool there = false;
    for (const std::string& file : all)
      if (Names(pattern, file)) there = true, named.insert(file);
    if (!there) missing += StrCat(missing.empty() ? "" : ", ", pattern);
  }
  if (!missing.empty())
    return Status(Code::kFailedPrecondition,
                  StrCat("`success` names ", missing, ", and there is no such file in ", output.from,
                         ", the directory {run_dir}"));
  output.files.assign(named.begin(), named.end());
  return output;
}

Status ExternalTraining::RememberExport() const {
  Json result = directory_.Read("result.json");
  std::string place = directory_.Path(kExport);
  if (shared()) {  // the disk of this host may be another one since
    const Result<std::string> text = ReadText(*call_.storage, job_.run_uri + "/result.json", kMostResult);
    const Result<Json> published = text.ok() ? Json::Parse(*text) : Result<Json>(text.status());
    if (published.ok()) result = *published, place = StrCat(job_.run_uri, "/", kExport);
  }
  std::error_code error;
  if (!result["export"].is_string() || !fs::is_directory(place, error)) return {};
  ASSIGN_OR_RETURN(Json files, Measured(place));
  return directory_.Write(kEarlierExport,
                          Json::Object{{"steps", StepsOf(result)}, {"files", std::move(files)}});
}

Status ExternalTraining::CopyOutput(const Output& output) const {
  const std::string part = directory_.Path(kNewExport);
  RETURN_IF_ERROR(RemoveAll(part));
  for (const std::string& file : output.files) {
    const fs::path to = fs::path(part) / file;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (!error) fs::copy_file(fs::path(output.from) / file, to, error);
    if (error) return SystemError(to.string(), error.value());
    RETURN_IF_ERROR(SyncFile(to));
  }
  if (const Json earlier = directory_.Read(kEarlierExport);
      earlier.is_object() && earlier["steps"].AsInt() < job_.steps()) {
    ASSIGN_OR_RETURN(const Json files, Measured(part));
    if (files == earlier["files"])
      return Status(Code::kFailedPrecondition,
                    StrCat("its files are those of the training of ", earlier["steps"].AsInt(), " steps"));
  }
  const std::string place = directory_.Path(directory_.NewResult(kExport));
  RETURN_IF_ERROR(RemoveAll(place));
  std::error_code error;
  fs::rename(part, place, error);
  return error ? SystemError(part, error.value()) : Status();
}

Status ExternalTraining::WriteResult(std::int64_t done) const {
  std::optional<ProgramCheckpoints::Newest> newest;
  if (checkpoints_) {
    ASSIGN_OR_RETURN(newest, checkpoints_->FindNewest());
  }
  Json result;
  result["steps"] = settings_.SeesSteps() ? Json(done) : Json();
  if (!settings_.SeesSteps())
    result["asked_steps"] = job_.steps();
  else if (done < job_.steps())
    result["stopped_early"] = Json::Object{{"step", done}, {"reason", "the program ended with 0"}};
  // Without copies, it is the program's own.
  result["checkpoint"] = newest && !shared() ? Json(StrCat("checkpoints/", newest->step)) : Json();
  result["export"] = kExport;
  result["final"] = Json(Json::Object{});
  const OutputRecogniser::Losses& losses = program_->losses();
  const std::int64_t last = losses.at >= 0 ? losses.at : program_->step();
  if (last >= 0) result["final"]["step"] = last;
  if (losses.at >= 0) result["final"]["loss"] = losses.broken_since < 0 ? Json(losses.last) : Json();
  RETURN_IF_ERROR(directory_.Write(directory_.NewResult("config.json"), ExternalRecipe(job_.settings)));
  RETURN_IF_ERROR(directory_.Write(directory_.NewResult("result.json"), result));
  return directory_.Remove(kEarlierExport);
}

}  // namespace pipeline
