#include "tests/support/fake_gcs_faults.h"

#include <algorithm>
#include <charconv>

#include "base/str.h"
#include "tests/support/fake_gcs_words.h"

namespace pipeline {

namespace {

using Kind = FakeFault::Kind;

std::optional<std::uint64_t> SkipNumber(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "-after-256K", "-after-10B" or nothing.
bool SkipAfter(std::string_view& text, std::optional<std::uint64_t>& after) {
  if (!SkipWord(text, "-after-") && !SkipWord(text, "-at-")) return text.empty();
  after = SkipNumber(text);
  if (after && !SkipWord(text, "B")) {
    if (!SkipWord(text, "KiB") && !SkipWord(text, "K")) return false;
    *after *= 1024;
  }
  return after && text.empty();
}

bool ParseReturn(std::string_view rest, FakeFault& fault) {
  if (SkipWord(rest, "reset-connection")) {
    fault.kind = Kind::kReset;
    return SkipAfter(rest, fault.after);
  }
  if (SkipWord(rest, "broken-stream-final-chunk") || SkipWord(rest, "broken-stream")) {
    fault.kind = Kind::kBrokenStream;
    return SkipAfter(rest, fault.after);
  }
  const std::pair<std::string_view, Kind> words[] = {{"corrupted-data", Kind::kCorrupt},
                                                     {"308-without-range", Kind::kLostRange},
                                                     {"whole-object", Kind::kWholeObject},
                                                     {"wrong-etag", Kind::kWrongEtag}};
  for (const auto& [word, kind] : words) {
    if (rest != word) continue;
    fault.kind = kind;
    return true;
  }
  const std::optional<std::uint64_t> status = SkipNumber(rest);
  if (!status) return false;
  fault.status = static_cast<int>(*status);
  fault.kind = Kind::kStatus;
  if (rest == "-after-commit") {
    fault.kind = Kind::kAfterCommit;
    return true;
  }
  if (SkipWord(rest, "-retry-after-")) {
    const std::optional<std::uint64_t> seconds = SkipNumber(rest);
    if (seconds) fault.retry_after = static_cast<int>(*seconds);
    return seconds && rest.empty();
  }
  return SkipAfter(rest, fault.after);
}

/// Which operations a fault of this kind can strike.
bool Fits(const FakeFault& fault, std::string_view operation) {
  constexpr std::string_view kInsert = "storage.objects.insert.";
  const bool insert = operation.substr(0, kInsert.size()) == kInsert;
  const std::string_view step = insert ? operation.substr(kInsert.size()) : std::string_view();
  const bool sends = step == "whole" || step == "chunk";
  const bool read = operation == "storage.objects.read", batch = operation == "storage.batch";
  switch (fault.kind) {
    case Kind::kNone: return false;
    case Kind::kStatus: return !fault.after || sends;
    case Kind::kReset: return !fault.after || sends || read;
    case Kind::kAfterCommit:
      return sends || operation == "storage.objects.delete" || operation == "storage.objects.compose" ||
             operation == "storage.objects.rewrite" || batch;
    case Kind::kBrokenStream: return read || batch;
    case Kind::kOverwrite:
    case Kind::kWholeObject:
    case Kind::kWrongEtag: return read;
    case Kind::kCorrupt: return read || sends;
    case Kind::kLostRange: return step == "chunk" || step == "query";
    case Kind::kExpireSession: return step == "chunk" || step == "query";
    case Kind::kRedirectSession: return step == "start";
    case Kind::kRace: return sends;
    case Kind::kPages:
    case Kind::kEmptyPage: return operation == "storage.objects.list";
    case Kind::kStall: return read || sends;
  }
  return false;
}

/// What a random plan chooses from. Rare faults stand once, the usual ones more often.
constexpr std::string_view kRandom[] = {
    "return-503",
    "return-503",
    "return-500",
    "return-429-retry-after-0",
    "return-408",
    "return-reset-connection",
    "return-401",
    "return-503-after-300K",
    "return-reset-connection-after-700K",
    "return-reset-connection-after-40K",
    "return-reset-connection-after-300K",
    "return-503-after-commit",
    "return-0-after-commit",
    "return-broken-stream",
    "return-broken-stream-after-64K",
    "return-corrupted-data",
    "return-308-without-range",
    "return-308-without-range",
    "return-whole-object",
    "return-wrong-etag",
    "expire-session-404",
    "expire-session-410",
    "redirect-session",
    "redirect-session",
    "race",
    "pages-of-1",
    "pages-of-3",
    "empty-page",
    "stall-for-50ms-after-16K",
    "overwrite-after-64K",
};

}  // namespace

std::optional<FakeFault> FakeFault::Parse(std::string_view word) {
  FakeFault fault;
  std::string_view rest = word;
  if (SkipWord(rest, "return-")) return ParseReturn(rest, fault) ? std::optional(fault) : std::nullopt;
  if (SkipWord(rest, "expire-session-")) {
    fault.kind = Kind::kExpireSession;
    fault.status = static_cast<int>(SkipNumber(rest).value_or(404));
  } else if (SkipWord(rest, "pages-of-")) {
    fault.kind = Kind::kPages;
    fault.number = SkipNumber(rest).value_or(1);
  } else if (SkipWord(rest, "stall-for-")) {
    fault.kind = Kind::kStall;
    fault.number = SkipNumber(rest).value_or(1);
    if (!SkipWord(rest, "ms")) {
      if (!SkipWord(rest, "s")) return std::nullopt;
      fault.number *= 1000;
    }
    return SkipAfter(rest, fault.after) ? std::optional(fault) : std::nullopt;
  } else if (SkipWord(rest, "overwrite")) {
    fault.kind = Kind::kOverwrite;
    return SkipAfter(rest, fault.after) ? std::optional(fault) : std::nullopt;
  } else {
    const std::pair<std::string_view, Kind> words[] = {{"redirect-session", Kind::kRedirectSession},
                                                       {"race", Kind::kRace},
                                                       {"empty-page", Kind::kEmptyPage}};
    for (const auto& [name, kind] : words)
      if (rest == name) fault.kind = kind;
    if (fault.kind != Kind::kNone) rest = {};
  }
  return fault.kind != Kind::kNone && rest.empty() ? std::optional(fault) : std::nullopt;
}

bool FakeGcsFaults::Enqueue(Queue& queue, std::string_view operation, std::string_view word) {
  const std::optional<FakeFault> fault = FakeFault::Parse(word);
  if (fault) queue.push_back({std::string(operation), std::string(word), *fault});
  return fault.has_value();
}

bool FakeGcsFaults::Add(std::string_view operation, std::string_view word) {
  const std::scoped_lock lock(mutex_);
  return Enqueue(queue_, operation, word);
}

bool FakeGcsFaults::EnqueueAll(Queue& queue, const Json& instructions) {
  bool known = true;
  for (const auto& [operation, words] : instructions.AsObject())
    for (const Json& word : words.AsArray()) known = Enqueue(queue, operation, word.AsString()) && known;
  return known;
}

bool FakeGcsFaults::AddAll(const Json& instructions) {
  const std::scoped_lock lock(mutex_);
  return EnqueueAll(queue_, instructions);
}

void FakeGcsFaults::Plan(std::uint64_t seed, double rate) {
  const std::scoped_lock lock(mutex_);
  state_ = seed * 2 + 1;
  rate_ = rate;
}

void FakeGcsFaults::Slow(std::string part, std::chrono::milliseconds longer) {
  const std::scoped_lock lock(mutex_);
  slow_ = std::move(part);
  longer_ = longer;
}

std::chrono::milliseconds FakeGcsFaults::SlownessOf(const std::string& object) const {
  const std::scoped_lock lock(mutex_);
  const bool is_slow = !slow_.empty() && object.find(slow_) != std::string::npos;
  return is_slow ? longer_ : std::chrono::milliseconds(0);
}

std::uint64_t FakeGcsFaults::Random() {
  state_ += 0x9e3779b97f4a7c15u;  // splitmix64
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

std::optional<FakeFault> FakeGcsFaults::TakeFrom(Queue& queue, std::string_view operation) {
  const auto meant = [&](const Waiting& waiting) {
    const bool named = operation == waiting.operation ||
                       (operation.substr(0, waiting.operation.size()) == waiting.operation &&
                        operation.substr(waiting.operation.size(), 1) == ".") ||
                       // Google's testbench knows one method for the resource and for its media.
                       (waiting.operation == "storage.objects.get" && operation == "storage.objects.read");
    return named && Fits(waiting.fault, operation);
  };
  const auto found = std::find_if(queue.begin(), queue.end(), meant);
  if (found == queue.end()) return std::nullopt;
  const FakeFault fault = found->fault;
  queue.erase(found);
  return fault;
}

void FakeGcsFaults::NoteRefused(const std::string& object) {
  const std::scoped_lock lock(mutex_);
  refused_.insert(object);
}

FakeFault FakeGcsFaults::Take(const FakeTarget& target) {
  const std::scoped_lock lock(mutex_);
  const FakeFault fault = Choose(target);
  // Other faults may cut off the answer: then a 401 is still the last one.
  if (fault.status == 401)
    refused_.insert(target.object);
  else if (fault.kind == Kind::kNone || fault.kind == Kind::kStatus)
    refused_.erase(target.object);
  return fault;
}

FakeFault FakeGcsFaults::Choose(const FakeTarget& target) {
  const std::string& operation = target.operation;
  if (const auto asked = tests_.find(target.test); asked != tests_.end())
    return TakeFrom(asked->second, operation).value_or(FakeFault{});
  if (std::optional<FakeFault> fault = TakeFrom(queue_, operation)) return *fault;
  if (rate_ == 0) return {};
  int& in_a_row = in_a_row_[{operation, target.object}];
  const bool strikes = static_cast<double>(Random() >> 11) * 0x1p-53 < rate_;
  if (!strikes || in_a_row == 3) {
    in_a_row = 0;
    return {};
  }
  ++in_a_row;
  for (;;) {
    const FakeFault fault = *FakeFault::Parse(kRandom[Random() % std::size(kRandom)]);
    if (!Fits(fault, operation)) continue;
    // A second 401 in a row says that the credentials are no good.
    if (fault.status == 401 && (!target.has_token || refused_.count(target.object) != 0)) continue;
    if (fault.kind == Kind::kOverwrite && !target.others_write) continue;
    return fault;
  }
}

std::optional<std::string> FakeGcsFaults::AddTest(const Json& instructions) {
  const std::scoped_lock lock(mutex_);
  Queue queue;
  if (!EnqueueAll(queue, instructions)) return std::nullopt;
  std::string id = StrCat("test-", next_test_++);
  tests_.emplace(id, std::move(queue));
  return id;
}

std::optional<Json> FakeGcsFaults::ShowTest(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tests_.find(id);
  if (found == tests_.end()) return std::nullopt;
  Json shown;
  shown["id"] = id;
  shown["completed"] = found->second.empty();
  shown["instructions"] = Json(Json::Object{});
  for (const Waiting& waiting : found->second) shown["instructions"][waiting.operation].Append(waiting.word);
  return shown;
}

void FakeGcsFaults::RemoveTest(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  tests_.erase(id);
}

void FakeGcsFaults::Count(std::string_view scenario) {
  const std::scoped_lock lock(mutex_);
  ++counts_[std::string(scenario)];
}

std::map<std::string, int> FakeGcsFaults::Counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace pipeline
