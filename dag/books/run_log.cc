#include "dag/books/run_log.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "dag/books/log_file.h"
#include "dag/books/run_log_line.h"

namespace pipeline {

namespace {

constexpr std::size_t kTypicalLine = 256;  // bytes; only to size the table of units

/// Returns the version that the first line of `text` names. Absent: it is no complete first line.
std::optional<std::uint32_t> VersionOf(std::string_view text) {
  if (text.substr(0, kRunLogFront.size()) != kRunLogFront) return std::nullopt;
  const char* end = text.data() + text.size();
  std::uint32_t version = 0;
  const auto [after, error] = std::from_chars(text.data() + kRunLogFront.size(), end, version);
  if (error == std::errc::result_out_of_range) return UINT32_MAX;
  if (error != std::errc() || after == end || *after != '\n') return std::nullopt;
  return version;
}

}  // namespace

struct RunLog::State {
  /// A line about a unit. It is decoded on demand, because few of 100,000 lines are needed.
  struct Kept {
    std::string_view text;  // without its LF; owned by `texts`
    std::uint32_t segment = 0;
    mutable std::unique_ptr<UnitLine> decoded = {};

    /// Null: a field does not parse; the unit then counts as not done.
    const UnitLine* line() const {
      if (decoded) return decoded.get();
      const std::optional<LineHead> head = ScanLine(text);
      std::optional<UnitLine> fresh = head ? DecodeUnit(*head) : std::nullopt;
      if (fresh) decoded = std::make_unique<UnitLine>(std::move(*fresh));
      return decoded.get();
    }
  };

  /// The valid lines about one unit. `failed` came after `finished`; at least one of the two exists.
  struct UnitEntry {
    std::optional<Kept> finished;  // done or end
    std::optional<Kept> failed;

    const Kept& last() const { return failed ? *failed : *finished; }
  };

  std::string path;
  LogIo io;

  // Guards the members for appending; held during a write.
  Mutex append_mutex;
  std::unique_ptr<LogFile> file
      GUARDED_BY(append_mutex);  // null: nothing can be appended, for the reason in `closed`
  Status closed GUARDED_BY(append_mutex);
  bool torn_tail GUARDED_BY(append_mutex) = false;  // the file does not end with LF
  LogMirror* mirror GUARDED_BY(append_mutex) = nullptr;

  // Guards everything below; never held during a write, and taken after append_mutex.
  mutable Mutex mutex;
  std::deque<std::string> texts
      GUARDED_BY(mutex);  // the file as it was read, then each line appended; never shrinks
  std::unordered_map<std::string_view, UnitEntry> units GUARDED_BY(mutex);  // keys live in `texts`
  std::unordered_map<std::string_view, Kept> cuts GUARDED_BY(mutex);        // the same
  std::map<std::uint32_t, SegmentLine> segments GUARDED_BY(mutex);
  std::map<std::string, std::uint32_t> segment_numbers GUARDED_BY(mutex);  // by lineage
  std::uint32_t highest_segment GUARDED_BY(mutex) = 0;  // also counts segments that only unit lines name
  std::vector<RunLine> runs GUARDED_BY(mutex);
  std::vector<std::string_view> unknown
      GUARDED_BY(mutex);                      // lines of unknown kinds, of a later v1; without LF
  std::uint64_t lines GUARDED_BY(mutex) = 0;  // all lines in the file
  std::uint64_t damaged GUARDED_BY(mutex) = 0;

  void Load(std::string file_text) REQUIRES(append_mutex, mutex);
  void ApplyCounted(std::string_view line) REQUIRES(mutex);
  /// Gives a line its effect; false when it is damaged. `line` lives in `texts`.
  bool Apply(std::string_view line) REQUIRES(mutex);
  bool ApplyUnit(const LineHead& head, UnitState unit_state, std::string_view line) REQUIRES(mutex);
  bool ApplySegment(const LineHead& head) REQUIRES(mutex);
  bool ApplyRun(const LineHead& head) REQUIRES(mutex);
  /// Returns `value` without escapes; a text that changed is kept in `texts`. Absent: an escape is wrong.
  std::optional<std::string_view> Unescaped(std::string_view value) REQUIRES(mutex);

  /// `at_once`: for the mirror.
  Status Append(const std::vector<std::string>& added, bool at_once = false);
  Status AppendLocked(const std::vector<std::string>& added, bool at_once = false) REQUIRES(append_mutex);

  /// The compacted text of the log, and its number of lines.
  struct Essence {
    std::string text;
    std::uint64_t lines = 0;
    void Add(std::string_view line) { text += line, text += '\n', ++lines; }
  };
  Essence Compacted() const REQUIRES(mutex);
};

// -------------------------------------------------------------------------------------- loading

void RunLog::State::Load(std::string file_text) {
  units.reserve(file_text.size() / kTypicalLine);
  std::string_view rest = texts.emplace_back(std::move(file_text));
  rest.remove_prefix(kRunLogFirstLine.size());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos && file == nullptr) return;  // another process is writing it
    ApplyCounted(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

void RunLog::State::ApplyCounted(std::string_view line) {
  if (line.empty()) return;
  ++lines;
  if (!Apply(line)) ++damaged;
}

bool RunLog::State::Apply(std::string_view line) {
  const std::optional<LineHead> head = ScanLine(line);
  if (!head) return false;
  if (const std::optional<UnitState> unit_state = UnitStateOf(head->kind))
    return ApplyUnit(*head, *unit_state, line);
  if (head->kind == "segment") return ApplySegment(*head);
  if (head->kind == "run") return ApplyRun(*head);
  unknown.push_back(line);
  return true;
}

bool RunLog::State::ApplyUnit(const LineHead& head, UnitState unit_state, std::string_view line) {
  const std::optional<std::string_view> unit = Unescaped(head.unit);
  if (!unit || unit->empty()) return false;
  highest_segment = std::max(highest_segment, head.segment);
  if (unit_state == UnitState::kVoid) {
    units.erase(*unit);
    return true;
  }
  if (unit_state == UnitState::kCuts) {
    cuts.insert_or_assign(*unit, Kept{line, head.segment});
    return true;
  }
  UnitEntry& entry = units[*unit];
  std::optional<Kept>& location = unit_state == UnitState::kFailed ? entry.failed : entry.finished;
  if (unit_state != UnitState::kFailed) entry.failed.reset();
  location = Kept{line, head.segment};
  return true;
}

bool RunLog::State::ApplySegment(const LineHead& head) {
  std::optional<SegmentLine> segment = DecodeSegment(head);
  if (!segment) return false;
  highest_segment = std::max(highest_segment, segment->number);
  if (!runs.empty()) segment->began = runs.back().started;
  segment_numbers[segment->lineage] = segment->number;
  segments.insert_or_assign(segment->number, std::move(*segment));
  return true;
}

bool RunLog::State::ApplyRun(const LineHead& head) {
  std::optional<RunLine> run = DecodeRun(head);
  if (!run) return false;
  const auto known =
      std::find_if(runs.begin(), runs.end(), [&](const RunLine& r) { return r.id == run->id; });
  if (known == runs.end())
    runs.push_back(std::move(*run));
  else
    *known = std::move(*run);
  return true;
}

std::optional<std::string_view> RunLog::State::Unescaped(std::string_view value) {
  if (value.find('%') == std::string_view::npos) return value;
  std::optional<std::string> text = Unescape(value);
  if (!text) return std::nullopt;
  return texts.emplace_back(std::move(*text));
}

namespace {

/// Returns the bytes of a log. Empty: its first line cannot be read. Then it only warns; `what_happens` says
/// how the log is treated.
Result<std::string> CheckVersion(const std::string& path, Result<std::string> text,
                                 std::string_view what_happens, bool* unreadable) {
  if (!text.ok() || text.value().empty()) return text;
  const std::optional<std::uint32_t> version = VersionOf(*text);
  if (version && *version > kRunLogVersion)
    return Status(Code::kFailedPrecondition,
                  StrCat(path, ": written by a newer program: version ", *version, " where this one reads ",
                         kRunLogVersion, "; use the newer program, or another --work"));
  if (version == kRunLogVersion) return text;
  LogWarning(StrCat(path, version ? StrCat(": has the older version ", *version) : ": is not a run log",
                    ", so that nothing in it counts as done; ", what_happens));
  *unreadable = true;
  return std::string();
}

/// Does the same with a file. Empty also if there is none.
Result<std::string> ReadLog(const std::string& path, std::string_view what_happens, bool* unreadable) {
  Result<std::string> text = ReadWholeFile(path);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::string();
  return CheckVersion(path, std::move(text), what_happens, unreadable);
}

}  // namespace

RunLog::RunLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunLog::~RunLog() = default;

Result<std::unique_ptr<RunLog>> RunLog::Open(const std::string& path) { return Open(path, SystemLogIo()); }

Result<std::unique_ptr<RunLog>> RunLog::Open(const std::string& path, LogIo io) {
  bool unreadable = false;
  ASSIGN_OR_RETURN(std::string text, ReadLog(path, "it is put aside", &unreadable));
  if (unreadable) {
    ASSIGN_OR_RETURN(const std::string aside, PutAside(path));
    LogWarning(StrCat(path, ": kept as ", aside));
  }
  if (text.empty()) {
    text = kRunLogFirstLine;
    RETURN_IF_ERROR(ReplaceFile(path, text, io));
  }
  auto state = std::make_unique<State>();
  const Lock appending(state->append_mutex);
  const Lock lock(state->mutex);
  state->path = path;
  state->torn_tail = text.back() != '\n';
  ASSIGN_OR_RETURN(state->file, LogFile::OpenForAppend(path, io));
  state->io = std::move(io);
  state->Load(std::move(text));
  if (state->damaged > 0)
    LogWarning(StrCat(path, ": ", state->damaged,
                      " torn or damaged line(s) ignored; the work that they name counts ", "as not done"));
  return std::unique_ptr<RunLog>(new RunLog(std::move(state)));
}

Result<std::unique_ptr<RunLog>> RunLog::OpenReadOnly(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path);
  if (!text.ok() && text.status().code() != Code::kNotFound) return std::move(text).status();
  return OpenText(path, text.ok() ? std::move(*text) : std::string());
}

Result<std::unique_ptr<RunLog>> RunLog::OpenText(const std::string& name, std::string text) {
  bool unreadable = false;
  ASSIGN_OR_RETURN(text, CheckVersion(name, std::move(text), "the next run puts it aside", &unreadable));
  auto state = std::make_unique<State>();
  const Lock appending(state->append_mutex);
  const Lock lock(state->mutex);
  state->path = name;
  state->closed = Status(Code::kInternal, StrCat(name, ": opened for reading only"));
  if (!text.empty()) state->Load(std::move(text));
  return std::unique_ptr<RunLog>(new RunLog(std::move(state)));
}

// ------------------------------------------------------------------------------------ questions

const UnitLine* RunLog::Find(std::string_view unit) const {
  const Lock lock(state_->mutex);
  const auto found = state_->units.find(unit);
  return found == state_->units.end() ? nullptr : found->second.last().line();
}

const UnitLine* RunLog::FindDone(std::string_view unit) const {
  const Lock lock(state_->mutex);
  const auto found = state_->units.find(unit);
  if (found == state_->units.end() || !found->second.finished) return nullptr;
  return found->second.finished->line();
}

const UnitLine* RunLog::FindCuts(std::string_view unit) const {
  const Lock lock(state_->mutex);
  const auto found = state_->cuts.find(unit);
  return found == state_->cuts.end() ? nullptr : found->second.line();
}

std::vector<const UnitLine*> RunLog::List(std::string_view prefix) const {
  const Lock lock(state_->mutex);
  std::vector<std::pair<std::string_view, const State::UnitEntry*>> found;
  for (const auto& [unit, entry] : state_->units)
    if (unit.substr(0, prefix.size()) == prefix) found.emplace_back(unit, &entry);
  std::sort(found.begin(), found.end());
  std::vector<const UnitLine*> lines;
  lines.reserve(found.size());
  for (const auto& [unit, entry] : found)
    if (const UnitLine* line = entry->last().line()) lines.push_back(line);
  return lines;
}

std::vector<std::string> RunLog::FailedUnits(std::string_view prefix) const {
  const Lock lock(state_->mutex);
  std::vector<std::string> failed;
  for (const auto& [unit, entry] : state_->units)
    if (entry.failed && unit.starts_with(prefix)) failed.emplace_back(unit);
  return failed;
}

void RunLog::ForEach(std::string_view prefix,
                     const std::function<void(std::string_view unit, std::uint32_t segment)>& visit) const {
  const Lock lock(state_->mutex);
  for (const auto& [unit, entry] : state_->units)
    if (unit.substr(0, prefix.size()) == prefix) visit(unit, entry.last().segment);
}

std::vector<std::string> RunLog::Lineages() const {
  const Lock lock(state_->mutex);
  std::vector<std::string> lineages;
  for (const auto& [number, segment] : state_->segments) lineages.push_back(segment.lineage);
  return lineages;
}

const SegmentLine* RunLog::FindSegment(std::uint32_t number) const {
  const Lock lock(state_->mutex);
  const auto found = state_->segments.find(number);
  return found == state_->segments.end() ? nullptr : &found->second;
}

std::vector<RunLine> RunLog::Runs() const {
  const Lock lock(state_->mutex);
  return state_->runs;
}

std::uint64_t RunLog::damaged_lines() const {
  const Lock lock(state_->mutex);
  return state_->damaged;
}

// ------------------------------------------------------------------------------------ appending

Status RunLog::State::Append(const std::vector<std::string>& added, bool at_once) {
  const Lock lock(append_mutex);
  return AppendLocked(added, at_once);
}

Status RunLog::State::AppendLocked(const std::vector<std::string>& added, bool at_once) {
  if (!file) return closed;
  std::string bytes = torn_tail ? "\n" : "";
  for (const std::string& line : added) bytes += line;
  RETURN_IF_ERROR(file->Append(bytes));
  torn_tail = false;
  {
    const Lock lock(mutex);
    for (const std::string& line : added)
      ApplyCounted(texts.emplace_back(line, 0, line.size() - 1));  // no LF
  }
  if (mirror == nullptr) return {};
  std::string all;
  for (const std::string& line : added) all += line;
  return mirror->Add(all, at_once);
}

void RunLog::SetMirror(LogMirror* mirror) {
  const Lock lock(state_->append_mutex);
  state_->mirror = mirror;
}

Status RunLog::Flush(std::stop_token stop) {
  LogMirror* mirror = nullptr;
  {
    const Lock lock(state_->append_mutex);
    mirror = state_->mirror;
  }
  return mirror == nullptr ? Status() : mirror->Flush(std::move(stop));
}

Status RunLog::Append(const UnitLine& line) { return Append(std::vector{line}); }

Status RunLog::Append(const std::vector<UnitLine>& lines) {
  if (lines.empty()) return {};
  std::vector<std::string> encoded;
  bool takes_back = false;  // nobody may take an earlier line for true any more
  for (const UnitLine& line : lines) {
    takes_back = takes_back || line.state == UnitState::kVoid;
    if (line.unit.empty()) return Status(Code::kInternal, StrCat(state_->path, ": a line without a unit"));
    encoded.push_back(EncodeLine(line));
  }
  RETURN_IF_ERROR(state_->Append(encoded, takes_back));
  for (const UnitLine& line : lines)
    if (listener_) RETURN_IF_ERROR(listener_(line));
  return {};
}

Status RunLog::AppendRun(const RunLine& line) {
  if (line.id.empty()) return Status(Code::kInternal, StrCat(state_->path, ": a run without an id"));
  return state_->Append({EncodeLine(line)}, true);  // others look for it soon
}

Result<std::uint32_t> RunLog::AppendSegment(const std::string& lineage) {
  const Lock appending(state_->append_mutex);
  SegmentLine segment;
  {
    const Lock lock(state_->mutex);
    const auto known = state_->segment_numbers.find(lineage);
    if (known != state_->segment_numbers.end()) return known->second;
    segment = {state_->highest_segment + 1, lineage};
  }
  RETURN_IF_ERROR(state_->AppendLocked({EncodeLine(segment)}));
  return segment.number;
}

// ----------------------------------------------------------------------------------- compaction

RunLog::State::Essence RunLog::State::Compacted() const {
  Essence essence;
  essence.text = kRunLogFirstLine;
  const auto add = [&](std::string line) {
    line.pop_back();  // its LF
    essence.Add(line);
  };
  for (const auto& [number, segment] : segments) add(EncodeLine(segment));
  for (const RunLine& run : runs) add(EncodeLine(run));
  for (const std::string_view line : unknown) essence.Add(line);
  std::vector<std::string_view> sorted_cuts;
  for (const auto& [unit, kept] : cuts) sorted_cuts.push_back(kept.text);
  std::sort(sorted_cuts.begin(), sorted_cuts.end());
  for (const std::string_view line : sorted_cuts) essence.Add(line);
  std::vector<std::pair<std::string_view, const UnitEntry*>> sorted;
  for (const auto& [unit, entry] : units) sorted.emplace_back(unit, &entry);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [unit, entry] : sorted) {
    if (entry->finished) essence.Add(entry->finished->text);
    if (entry->failed) essence.Add(entry->failed->text);
  }
  return essence;
}

Status RunLog::CompactIfWorthwhile() {
  State& state = *state_;
  const Lock appending(state.append_mutex);
  if (!state.file) return state.closed;
  State::Essence essence;
  {
    const Lock lock(state.mutex);
    essence = state.Compacted();
    if (essence.lines * 3 >= state.lines) return {};
  }
  // A failure may come before or after the rename, so that the open file may no longer be the log.
  state.file.reset();
  state.closed = ReplaceFile(state.path, essence.text, state.io);
  RETURN_IF_ERROR(state.closed);
  Result<std::unique_ptr<LogFile>> reopened = LogFile::OpenForAppend(state.path, state.io);
  if (!reopened.ok()) return state.closed = reopened.status();
  state.file = std::move(reopened).value();
  state.torn_tail = false;
  const Lock lock(state.mutex);
  state.lines = essence.lines;
  return {};
}

}  // namespace pipeline
