// How a fake Google Cloud Storage breaks: on request, by the words of Google's storage testbench and some
// more, or at random by a seed.
//
//   return-N                       status N in place of the answer
//   return-N-retry-after-S         the same, asking for S seconds
//   return-N-after-KK              an upload keeps the first K KiB, then status N
//   return-reset-connection        RST before anything is done
//   return-reset-connection-after-KK   an upload keeps K KiB, or a download sends them, then RST
//   return-N-after-commit          it is done, but the answer is status N; 0: RST
//   return-broken-stream[-after-KK]    a download, or the answer to a batch, ends in good order in the middle
//   return-corrupted-data          a byte of a download, or of what an upload received, is another one
//   return-308-without-range       the answer to a chunk or a query
//   return-whole-object            200 and everything where a range was asked for
//   return-wrong-etag              generation and ETag of something else
//   expire-session-N               the session of the upload is gone: status N
//   redirect-session               the session's URI names the host 0.0.0.0
//   race                           another writer finishes the same bytes just before
//   pages-of-N, empty-page         of a list
//   stall-for-Mms-after-KK         nothing moves for M milliseconds
//   overwrite-after-KK             a download ends after K KiB, and somebody has replaced the object
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pipeline {

struct FakeFault {
  enum class Kind : std::uint8_t {
    kNone,
    kStatus,
    kReset,
    kAfterCommit,
    kBrokenStream,
    kCorrupt,
    kLostRange,
    kWholeObject,
    kWrongEtag,
    kExpireSession,
    kRedirectSession,
    kRace,
    kPages,
    kEmptyPage,
    kStall,
    kOverwrite,
  };
  Kind kind = Kind::kNone;
  int status = 0;
  std::optional<int> retry_after;      // seconds
  std::optional<std::uint64_t> after;  // bytes
  std::uint64_t number = 0;            // of a page's objects, or milliseconds

  /// Absent where `word` is none of the words above.
  static std::optional<FakeFault> Parse(std::string_view word);
};

/// A request, for whoever decides what strikes it.
struct FakeTarget {
  std::string operation;
  std::string object;         // or the upload session
  std::string test = {};      // its x-retry-test-id
  bool has_token = false;     // it bears one
  bool others_write = false;  // to its bucket
};

/// Operations, as retry tests name them; an insert comes in steps.
///   storage.objects.{get,read,list,delete,compose,rewrite}  storage.buckets.get
///   storage.objects.insert: .whole .start .chunk .query .cancel
///   storage.batch: the whole; its parts are struck as operations of their own, where a reset is a 503
/// Safe from any thread.
class FakeGcsFaults {
 public:
  /// The next request of `operation` that the fault can strike is struck: "storage.objects.insert" stands
  /// for each of its steps. False where the word is unknown.
  bool Add(std::string_view operation, std::string_view word);
  /// {"OPERATION": ["word", ...], ...}. False where one is unknown: the others wait all the same.
  bool AddAll(const Json& instructions);
  /// From now on every request is struck with this probability, by what fits it, but none of one object more
  /// than three times in a row.
  void Plan(std::uint64_t seed, double rate);

  /// From now on an object whose name contains `part` takes so much longer to be made, until the next call;
  /// empty: no object does.
  void Slow(std::string part, std::chrono::milliseconds longer);
  std::chrono::milliseconds SlownessOf(const std::string& object) const;

  /// What strikes this request.
  FakeFault Take(const FakeTarget& target);
  /// The token of a request for the object was refused, by no fault: the next strike is another one.
  void NoteRefused(const std::string& object);

  /// A retry test: what POST /retry_test makes, and GET /retry_test/ID shows.
  std::optional<std::string> AddTest(const Json& instructions);
  std::optional<Json> ShowTest(const std::string& id) const;
  void RemoveTest(const std::string& id);

  /// One of the scenarios A to S took place; "-" for a fault that is none of them.
  void Count(std::string_view scenario);
  std::map<std::string, int> Counts() const;

 private:
  struct Waiting {
    std::string operation;
    std::string word;
    FakeFault fault;
  };
  using Queue = std::deque<Waiting>;
  static bool Enqueue(Queue& queue, std::string_view operation, std::string_view word);
  static bool EnqueueAll(Queue& queue, const Json& instructions);
  static std::optional<FakeFault> TakeFrom(Queue& queue, std::string_view operation);
  FakeFault Choose(const FakeTarget& target);
  std::uint64_t Random();

  mutable std::mutex mutex_;  // for what follows
  Queue queue_;
  std::map<std::string, Queue> tests_;
  std::map<std::string, int> counts_;
  std::map<std::pair<std::string, std::string>, int> in_a_row_;
  std::set<std::string> refused_;  // objects whose last answer was 401
  std::uint64_t state_ = 0;
  double rate_ = 0;
  std::string slow_;  // part of the names of objects
  std::chrono::milliseconds longer_{0};
  int next_test_ = 1;
};

}  // namespace pipeline
