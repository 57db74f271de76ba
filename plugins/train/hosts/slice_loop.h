// One host's side of a training on several hosts, from its first sign of life to the end of its job. It
// connects the decisions (`Member`, `Leader`) with the shared objects and the trainer, and never blocks.
// hosts.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/train/hosts/errands.h"
#include "plugins/train/hosts/leader.h"
#include "plugins/train/hosts/member.h"
#include "plugins/train/hosts/recipe_search.h"
#include "plugins/train/hosts/slice_books.h"
#include "plugins/train/hosts/slice_trainer.h"

namespace pipeline {

/// One thread. Errands that are under way when it is destroyed must not call `done` any more.
class SliceLoop {
 public:
  using Time = HostTiming::Time;
  using Tell = std::function<void(std::string_view line)>;

  /// `card`: the identity of this start, with a new nonce. On host 0 the run holds the lease of the location
  /// as long as this object exists. All references outlive it.
  SliceLoop(HostCard card, const HostTiming& timing, SliceBooks& books, SliceTrainer& trainer,
            Errands& errands, Tell tell, Time now);
  /// Errands that are under way end sooner.
  ~SliceLoop();
  SliceLoop(const SliceLoop&) = delete;
  SliceLoop& operator=(const SliceLoop&) = delete;

  /// Call it about once a second. `stopped`: the run was stopped on this host. Returns how the job ended,
  /// once.
  std::optional<TrainingEnd> Tick(Time now, bool stopped);

  const Member& member() const { return member_; }

 private:
  struct Reading;

  /// True if the card says how this host, or the run, has ended.
  bool HasLastWords() const;
  /// A stop of one host reaches the trainers of all, if they do not tell each other.
  void PassOnStop(Time now);
  void Sign(Time now);
  void Read(Time now);
  void Search(Time now);
  void TakeReading(const Reading& reading, Time now);
  std::optional<TrainingEnd> Obey(Time now);
  void Lead(Time now);
  /// After all trainers have ended well. Returns false if other hosts may still decide about the attempt.
  bool Publish(Time now);
  void Begin(AttemptRecord attempt);
  void End(const LeaderStep& step, Time now);
  void WriteEnd(AttemptEndRecord end);
  void FinishAs(TrainingEnd over);
  void Say(std::string line);

  const HostTiming timing_;
  SliceBooks& books_;
  SliceTrainer& trainer_;
  Errands& errands_;
  const Tell tell_;
  Member member_;
  std::optional<Leader> leader_;  // on host 0

  Time now_;
  Time sign_at_, read_at_, write_at_;
  std::optional<AttemptEndRecord> unwritten_;  // an end that could not be written
  bool signing_ = false, reading_ = false, writing_ = false;
  bool looked_ = false;      // the own card was read
  std::string version_;      // of the own card as this start knows it; empty: there is none
  std::int64_t newest_ = 0;  // attempt that was read
  bool asked_ = false;
  std::string killed_;            // why this host ended its trainer; empty: it did not
  std::optional<Time> all_done_;  // since when every trainer has ended well
  bool publishes_ = false;
  bool told_ = false;  // the others can read the last words
  std::optional<Time> farewell_at_;
  Time over_at_{0};
  std::vector<std::pair<std::string, Time>> said_;  // lately

  // On host 0, while it waits for hosts:
  RecipeSearch recipes_;
  bool searching_ = false;
  Time search_at_, list_at_;
  const std::shared_ptr<std::atomic<bool>> closing_;  // shared with errands
};

}  // namespace pipeline
