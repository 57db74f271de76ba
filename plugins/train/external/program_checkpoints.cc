#include "plugins/train/external/program_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kReturning = "returning";  // a copy on its way back, below the run directory

std::string CopyName(std::int64_t step) { return StrCat("checkpoints/", step); }
std::string MarkerName(std::int64_t step) { return CopyName(step) + ".json"; }

Json UnfinishedMarker(std::int64_t step) {
  return Json::Object{{"pipe_checkpoint", kWholeCheckpoint}, {"step", step}, {"unfinished", true}};
}

/// A hard link to a symbolic link would lose its target.
Status LinkOrFollow(const std::string& from, const std::vector<std::string>& names, const std::string& to) {
  std::vector<std::string> plain;
  std::error_code error;
  for (const std::string& name : names) {
    if (!fs::is_symlink(fs::path(from) / name, error)) {
      plain.push_back(name);
      continue;
    }
    fs::create_directories((fs::path(to) / name).parent_path(), error);
    fs::copy_file(fs::path(from) / name, fs::path(to) / name, error);
    if (error) return SystemError(StrCat(from, "/", name), error.value());
  }
  return LinkFiles(from, plain, to);
}

}  // namespace

ProgramCheckpoints::ProgramCheckpoints(const CheckpointRule& rule, Time settle, const RunDirectory& directory,
                                       const PluginServices& call, const ProgramPlace& place)
    : rule_(rule),
      settle_(settle),
      directory_(directory),
      call_(call),
      copies_(place.copies),
      place_(fs::path(StrCat(place.directory.empty() ? directory.Path(kProgramDirectory) : place.directory,
                             "/", rule.directory))
                 .lexically_normal()) {}

Status ProgramCheckpoints::MakeDirectories() const {
  std::error_code error;
  fs::create_directories(directory_.Path("checkpoints"), error);
  if (!error) fs::create_directories(place_, error);
  return error ? SystemError(place_, error.value()) : Status();
}

void ProgramCheckpoints::RemoveUnfinished() const {
  for (const std::int64_t step : StepsBelow(directory_.Path("checkpoints")))
    if (IsUnfinished(directory_.Read(MarkerName(step)))) RemoveCopy(step);
}

void ProgramCheckpoints::Remember(Time now) {
  states_.clear();
  for (const auto& [step, names] : List())
    if (const std::optional<Found> seen = Look(step, names))
      states_[step] = {seen->look, now, step <= newest_, rule_.commit.empty()};
}

Result<std::optional<std::int64_t>> ProgramCheckpoints::BeginAttempt(Time now) {
  RETURN_IF_ERROR(MakeDirectories());
  RemoveUnfinished();
  const std::vector<std::int64_t> copies = Copies();
  newest_ = -1;
  for (auto at = copies.rbegin(); at != copies.rend() && newest_ < 0; ++at) {
    if (!ProgramHas(*at)) {
      const Status back = PutBack(*at);
      if (!back.ok() && back.code() != Code::kDataLoss) return back;
      if (!back.ok()) {
        call_.log(Level::kWarning, StrCat(back.message(), "; going back to the one before"));
        continue;
      }
    }
    newest_ = *at;
  }
  if (!copies.empty() && newest_ < 0) return NoneCanBeRead(directory_.Path("checkpoints"), copies.size());
  Remember(now);
  return newest_ < 0 ? std::optional<std::int64_t>() : newest_;
}

Status ProgramCheckpoints::BeginAttemptAt(std::int64_t step, bool keeps_older, Time now) {
  RETURN_IF_ERROR(MakeDirectories());
  RemoveUnfinished();
  const auto leaves = [&](std::int64_t other) { return other > step || (other < step && !keeps_older); };
  for (const std::int64_t copy : Copies())
    if (leaves(copy)) RemoveCopy(copy);
  for (const auto& [other, names] : List()) {
    if (!leaves(other)) continue;
    for (const std::string& name : names) RETURN_IF_ERROR(RemoveAll(StrCat(place_, "/", name)));
  }
  newest_ = step;
  // The file beside them may have told of a newer one.
  if (step >= 0 && !(ProgramHasLinks(step) && rule_.beside.empty())) {
    const Status back = PutBack(step);
    // It was whole when it was brought here.
    if (back.code() == Code::kDataLoss) return Status(Code::kUnavailable, std::string(back.message()));
    RETURN_IF_ERROR(back);
  }
  Remember(now);
  return {};
}

Result<std::optional<std::int64_t>> ProgramCheckpoints::BeginWatching(Time now) {
  RETURN_IF_ERROR(MakeDirectories());
  for (const auto& [step, names] : List()) {
    if (rule_.commit.empty() || step < newest_ || !HasCommitFile(names)) continue;
    if (std::optional<Found> found = Look(step, names)) seen_ = std::move(found), newest_ = step;
  }
  Remember(now);
  return newest_ < 0 ? std::optional<std::int64_t>() : newest_;
}

std::optional<ProgramCheckpoints::Found> ProgramCheckpoints::Find(Time now, bool ended_well) {
  const Entries entries = List();
  std::erase_if(states_, [&](const auto& known) { return !entries.contains(known.first); });
  std::optional<Found> best;
  for (const auto& [step, names] : entries) {
    if (step < newest_) continue;
    // The file beside them tells of the newest.
    if (!rule_.beside.empty() && step != entries.rbegin()->first) continue;
    std::optional<Found> seen = Look(step, names);
    if (!seen) continue;
    State& state = states_[step];
    if (state.look != seen->look) state = {seen->look, now};
    if (state.done) continue;
    const bool last = ended_well && step == entries.rbegin()->first;
    const bool settled = last || (!state.torn && now - state.since >= settle_);
    if (rule_.commit.empty() ? settled : HasCommitFile(names)) best = std::move(seen);
  }
  return best;
}

Status ProgramCheckpoints::TakeOver(const Found& found) {
  states_[found.step].done = true;
  if (!copies_) {
    seen_ = found;
    newest_ = found.step;
    return {};
  }
  const Status made = MakeCopy(found);
  if (made.ok())
    newest_ = found.step;
  else
    RemoveCopy(found.step);
  return made;
}

Status ProgramCheckpoints::MakeCopy(const Found& found) const {
  const std::string copy = directory_.Path(CopyName(found.step));
  RETURN_IF_ERROR(directory_.Write(MarkerName(found.step), UnfinishedMarker(found.step)));
  RETURN_IF_ERROR(RemoveAll(copy));
  RETURN_IF_ERROR(LinkOrFollow(place_, found.files, copy));
  const Entries entries = List();
  const auto names = entries.find(found.step);
  const std::optional<Found> after = names == entries.end() ? std::nullopt : Look(found.step, names->second);
  if (!after || after->look != found.look)
    return Status(Code::kNotFound, StrCat(place_, ": was removed or changed meanwhile"));
  CheckpointMarker marker;
  marker.step = found.step;
  for (const std::string& name : found.files) {
    RETURN_IF_ERROR(SyncFile(StrCat(copy, "/", name)));
    ASSIGN_OR_RETURN(FileFacts facts, MeasureFile(copy, name, [] { return false; }));
    marker.files.push_back(std::move(facts));
  }
  return directory_.Write(MarkerName(found.step), marker.ToJson());
}

void ProgramCheckpoints::RemoveCopy(std::int64_t step) const {
  // The mark first: without one, the files would count as a checkpoint of an earlier version.
  Status removed = directory_.Write(MarkerName(step), UnfinishedMarker(step));
  if (removed.ok()) removed = RemoveAll(directory_.Path(CopyName(step)));
  if (removed.ok()) removed = directory_.Remove(MarkerName(step));
  if (!removed.ok()) call_.log(Level::kWarning, StrCat("an old checkpoint stays: ", removed.message()));
}

void ProgramCheckpoints::Prune(std::int64_t keep) const {
  if (!copies_) return;
  const std::vector<std::int64_t> copies = Copies();
  for (std::size_t at = 0; at + static_cast<std::size_t>(keep) < copies.size(); ++at) RemoveCopy(copies[at]);
}

std::vector<std::int64_t> ProgramCheckpoints::Copies() const {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (const std::int64_t step : StepsBelow(directory_.Path("checkpoints"))) {
    const Json marker = directory_.Read(MarkerName(step));
    if (marker.is_object() && !IsUnfinished(marker) && fs::exists(directory_.Path(CopyName(step)), error))
      steps.push_back(step);
  }
  return steps;
}

Result<std::optional<ProgramCheckpoints::Newest>> ProgramCheckpoints::FindNewest() const {
  if (!copies_)
    return seen_ ? std::optional(Newest{seen_->step, place_, seen_->files}) : std::optional<Newest>();
  const std::vector<std::int64_t> copies = Copies();
  if (copies.empty()) return std::optional<Newest>();
  Newest newest{copies.back(), directory_.Path(CopyName(copies.back())), {}};
  ASSIGN_OR_RETURN(newest.files, FilesBelow(newest.from));
  return std::optional(std::move(newest));
}

ProgramCheckpoints::Entries ProgramCheckpoints::List() const {
  Entries entries;
  for (const std::string& name : NamesIn(place_)) {
    const std::optional<std::string> group = rule_.step.MatchWhole(name);
    const std::optional<std::int64_t> step = group ? WholeNumber(*group) : std::nullopt;
    if (step) entries[*step].push_back(name);
  }
  std::error_code error;
  const bool beside = !rule_.beside.empty() && fs::exists(StrCat(place_, "/", rule_.beside), error);
  for (auto& [step, names] : entries) {
    if (beside) names.push_back(rule_.beside);
    std::sort(names.begin(), names.end());
  }
  return entries;
}

std::optional<ProgramCheckpoints::Found> ProgramCheckpoints::Look(
    std::int64_t step, const std::vector<std::string>& names) const {
  Found found;
  found.step = step;
  std::error_code error;
  for (const std::string& name : names) {
    const std::string path = StrCat(place_, "/", name);
    if (!fs::is_directory(path, error)) {
      found.files.push_back(name);
      continue;
    }
    const Result<std::vector<std::string>> below = FilesBelow(path);
    if (!below.ok()) return {};
    for (const std::string& file : *below) found.files.push_back(StrCat(name, "/", file));
  }
  std::sort(found.files.begin(), found.files.end());
  for (const std::string& file : found.files) {
    const std::optional<std::string> look = LookOfFile(StrCat(place_, "/", file));
    if (!look) return {};
    if (file == rule_.beside) continue;  // the next checkpoint changes it
    found.look += StrCat(file, " ", *look, "\n");
  }
  if (found.files.empty()) return {};
  return found;
}

bool ProgramCheckpoints::HasCommitFile(const std::vector<std::string>& names) const {
  std::error_code error;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return fs::exists(StrCat(place_, "/", name, "/", rule_.commit), error);
  });
}

bool ProgramCheckpoints::ProgramHas(std::int64_t step) const {
  const Entries entries = List();
  for (auto at = entries.upper_bound(step); at != entries.end(); ++at)
    if (rule_.commit.empty() || HasCommitFile(at->second)) return true;
  const std::string copy = directory_.Path(CopyName(step));
  const Result<std::vector<std::string>> files = FilesBelow(copy);
  if (!files.ok()) return false;
  std::error_code error;
  return std::all_of(files->begin(), files->end(), [&](const std::string& file) {
    const auto here = fs::file_size(StrCat(place_, "/", file), error);
    return !error && here == fs::file_size(StrCat(copy, "/", file), error);
  });
}

bool ProgramCheckpoints::ProgramHasLinks(std::int64_t step) const {
  const Entries entries = List();
  const auto names = entries.find(step);
  const std::optional<Found> there = names == entries.end() ? std::nullopt : Look(step, names->second);
  const std::string copy = directory_.Path(CopyName(step));
  const Result<std::vector<std::string>> files = FilesBelow(copy);
  if (!there || !files.ok() || there->files != *files) return false;
  std::error_code error;
  return std::all_of(files->begin(), files->end(), [&](const std::string& file) {
    return fs::equivalent(StrCat(place_, "/", file), StrCat(copy, "/", file), error) && !error;
  });
}

Status ProgramCheckpoints::PutBack(std::int64_t step) const {
  const std::string copy = directory_.Path(CopyName(step)), on_its_way = directory_.Path(kReturning);
  ASSIGN_OR_RETURN(const CheckpointMarker marker, ReadCheckpointMarker(directory_.Read(MarkerName(step)),
                                                                       directory_.Path(MarkerName(step))));
  RETURN_IF_ERROR(RemoveAll(on_its_way));
  std::error_code error;
  for (const FileFacts& file : marker.files) {
    const fs::path to = fs::path(on_its_way) / file.name;
    fs::create_directories(to.parent_path(), error);
    // No link: the program may write into its file.
    fs::copy_file(fs::path(copy) / file.name, to, error);
    if (error == std::errc::no_such_file_or_directory)
      return Status(Code::kDataLoss, StrCat(copy, "/", file.name, ": is missing"));
    if (error) return SystemError(to.string(), error.value());
    ASSIGN_OR_RETURN(const FileFacts back, MeasureFile(on_its_way, file.name, [] { return false; }));
    if (back != file) return Status(Code::kDataLoss, StrCat(copy, "/", file.name, ": is damaged"));
  }
  for (const std::string& name : NamesIn(on_its_way)) {
    const std::string to = StrCat(place_, "/", name);
    RETURN_IF_ERROR(RemoveAll(to));
    fs::rename(StrCat(on_its_way, "/", name), to, error);
    if (error) return SystemError(to, error.value());
  }
  return RemoveAll(on_its_way);
}

}  // namespace pipeline
