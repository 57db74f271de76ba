#include "dag/unit_runner.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "dag/artifact_summary.h"
#include "dag/job_unit.h"
#include "dag/nothing_left.h"
#include "dag/unit_id.h"
#include "records/piece.h"

namespace pipeline {

namespace {

constexpr std::string_view kSourceChanged = "its source was changed while it was read";

}  // namespace

Status UnitRunner::Make(Track& track) {
  TakenPieces pieces;
  {
    const Lock lock(run_.mutex);
    pieces = TakenPiecesOf(track);
  }
  Status made = MakeStages(run_.graph, run_.plan, run_.prepared.streams, std::move(pieces), track);
  const Lock lock(run_.mutex);
  track.stages = Track::Stages::kMade;
  if (!made.ok()) track.phase = Track::Phase::kFailed;
  run_.Wake();
  return made;
}

UnitEvents UnitRunner::EventsOf(Track& track) {
  UnitEvents events;
  events.logged = [this, &track](InputPieces::Standing standing) {
    const Lock lock(run_.mutex);
    const PartitionId id = standing.piece.id;
    const std::string unit = ToString(UnitId{track.name(), id});
    if (track.voided.contains(id))
      return run_.failures.Log(UnitState::kVoid, unit, 0, std::string(kSourceChanged));
    if (track.origin == nullptr) track.unsettled.insert(id);
    track.inputs[id.input].pieces.standing.insert_or_assign(id.partition, std::move(standing));
    for (Track* reader : track.readers) reader->Offer(id);
    run_.Wake();
  };
  events.failed = [this, &track](PartitionId id, const Status& why) {
    const Lock lock(run_.mutex);
    track.failed.insert(id);
    return run_.failures.Record(ToString(UnitId{track.name(), id}), why);
  };
  events.ended = [](const InputEnd&) {};
  return events;
}

Status UnitRunner::Stream(Track& track, std::uint32_t number) {
  InputPieces standing;
  std::uint64_t remakes = 0;
  {
    const Lock lock(run_.mutex);
    standing = track.inputs[number].pieces;
    remakes = run_.remakes;
  }
  UnitEvents events = EventsOf(track);
  events.ended = [this, &track, number](const InputEnd& end) {
    const Lock lock(run_.mutex);
    track.SetEnd(number, end);
    run_.Wake();
  };
  const bool takes_whole = track.barrier == nullptr && track.scope.assembly.barrier != nullptr;
  Status judged = track.barrier != nullptr ? JudgeWhole(*track.barrier) : Status();
  for (const Track* maker : track.makers)
    if (judged.ok() && takes_whole && !maker->planned->publishes) judged = JudgeWhole(*maker);
  Status outcome = !judged.ok()               ? std::move(judged)
                   : track.barrier != nullptr ? ReadBarrier(track, standing, events)
                   : takes_whole              ? ReadTaken(track, standing, events)
                                              : ReadFile(track, number, standing, events);
  const bool reads_file = track.barrier == nullptr && !takes_whole && track.planned->files >= 0;
  if (!outcome.ok() && reads_file) outcome = ReadAnew(track, number, std::move(outcome));
  const Lock lock(run_.mutex);
  Track::Input& input = track.inputs[number];
  input.running = false;
  // Partitions that failed stay missing: to try them again in this run would fail again.
  if (!outcome.ok() || !track.failed.empty()) input.given_up = true;
  // What this run made of it is of no known content.
  if (outcome.Detail<SourceChanged>() != nullptr) run_.failures.VoidUnsettled(track, number, kSourceChanged);
  if (outcome.ok()) track.TakeUnsettled(number);
  if (!input.given_up && !input.pieces.complete() && remakes == run_.remakes) {
    input.given_up = true;
    return Status(Code::kInternal, "its Source ended without all that was asked of it [this is a bug]");
  }
  return outcome;
}

Status UnitRunner::ReadFile(Track& track, std::uint32_t number, const InputPieces& standing,
                            const UnitEvents& events) {
  if (track.planned->files < 0)  // it had all its pieces when the run began
    return Status(Code::kUnavailable, "what it is made from is not there any more; run again");
  const Facts::Files& source =
      run_.facts.files.at(run_.graph.nodes()[static_cast<std::size_t>(track.planned->files)].spec->name);
  // Nothing was to be read when the run began; a partition that was found damaged changed that.
  RETURN_IF_ERROR(source.missing);
  return RunStreamUnit(track.scope, *run_.arena, source.files[number], number, standing, events,
                       run_.stop.get_token());
}

Status UnitRunner::ReadAnew(Track& track, std::uint32_t number, Status why) {
  if (!run_.environment.drop_damaged || why.code() == Code::kCancelled) return why;
  const std::size_t files = static_cast<std::size_t>(track.planned->files);
  const Facts::Files& source = run_.facts.files.at(run_.graph.nodes()[files].spec->name);
  if (number >= source.files.size()) return why;
  RETURN_IF_ERROR(run_.environment.drop_damaged(source.files[number].input.path, why));
  const Lock lock(run_.mutex);
  VoidInput(track, number, "made of bytes that are fetched anew");
  ++run_.remakes;
  if (track.readers.empty()) return {};
  // Units may read what was void only now: the next run begins with nothing of it.
  return Status(why.code(), StrCat(why.message(),
                                   "; what arrived of it is dropped, and what was made of it is "
                                   "void: run again, and it is fetched anew"));
}

void UnitRunner::VoidInput(Track& track, std::uint32_t number, std::string_view why) {
  InputPieces& pieces = track.inputs[number].pieces;
  for (const auto& [partition, standing] : pieces.standing)
    run_.failures.Log(UnitState::kVoid, ToString(UnitId{track.name(), standing.piece.id}), 0,
                      std::string(why));
  pieces.standing.clear();
  if (!track.readers.empty()) track.phase = Track::Phase::kFailed;  // what it logs from here on is void
  for (Track* reader : track.readers) {
    reader->phase = Track::Phase::kFailed;
    VoidInput(*reader, number, why);
  }
}

Status UnitRunner::ReadBarrier(Track& track, const InputPieces& standing, const UnitEvents& events) {
  Track& barrier = *track.barrier;
  std::vector<Piece> pieces;
  std::set<PartitionId> remade;
  {
    const Lock lock(run_.mutex);
    pieces = barrier.all_pieces();
    remade = barrier.remade;
  }
  Status outcome = RunBarrierUnit(track.scope, *run_.arena, *barrier.scope.directory, std::move(pieces),
                                  standing, events, run_.stop.get_token());
  return MakeAgain(barrier, remade, std::move(outcome));
}

Status UnitRunner::ReadTaken(Track& track, const InputPieces& standing, const UnitEvents& events) {
  std::vector<std::set<PartitionId>> remade;  // of each maker
  {
    const Lock lock(run_.mutex);
    for (const Track* maker : track.makers) remade.push_back(maker->remade);
  }
  Status outcome = RunBarrierUnit(track.scope, *run_.arena, *track.scope.directory, {}, standing, events,
                                  run_.stop.get_token());
  const std::optional<PieceOf> piece = DamagedPieceOf(outcome);
  for (std::size_t at = 0; piece && at < track.makers.size(); ++at) {
    Track& maker = *track.makers[at];
    if (maker.name() != piece->stage) continue;
    if (remade[at].contains(piece->id) || piece->id.input >= maker.inputs.size()) break;
    const Lock lock(run_.mutex);
    Remake(maker, piece->id, outcome);
    track.stages = Track::Stages::kLacking;  // they hold the pieces that stood
    return {};
  }
  return outcome;
}

Status UnitRunner::JudgeWhole(const Track& whole) {
  std::vector<Piece> pieces;
  {
    const Lock lock(run_.mutex);
    pieces = whole.all_pieces();
  }
  const ArtifactSummary summary = Summarize(*run_.environment.log, *whole.planned, pieces);
  RETURN_IF_ERROR(CheckWhole(summary));
  return JudgeLine(whole, summary);
}

Status UnitRunner::JudgeLine(const Track& last, const ArtifactSummary& summary) const {
  for (const Track* above = &last; above != nullptr; above = above->origin) {
    Status verdict = Judge(run_.graph, above->planned->chain, above->scope.assembly, summary);
    if (verdict.ok()) continue;
    std::string why;
    for (const Track* at = above; at != nullptr && why.empty(); at = at->origin)
      why = NothingLeft(run_.graph, at->scope, summary);
    return why.empty() ? verdict : Status(verdict.code(), StrCat(verdict.message(), ": ", why));
  }
  return {};
}

Status UnitRunner::Job(Track& track) {
  if (track.origin != nullptr) RETURN_IF_ERROR(JudgeWhole(*track.origin));
  std::vector<Piece> pieces;
  std::set<PartitionId> remade;
  if (track.origin != nullptr) {
    const Lock lock(run_.mutex);
    pieces = track.origin->all_pieces();
    remade = track.origin->remade;
  }
  Status outcome = RunJobUnit(run_.graph, track, std::move(pieces), run_.stop.get_token());
  if (!outcome.ok()) return track.origin ? MakeAgain(*track.origin, remade, std::move(outcome)) : outcome;
  {
    const Lock lock(run_.mutex);
    track.phase = Track::Phase::kFinishing;
  }
  return Done(track);
}

Status UnitRunner::MakeAgain(Track& producer, const std::set<PartitionId>& remade, Status why) {
  const std::optional<PartitionId> piece = DamagedPiece(why);
  if (!piece || remade.contains(*piece)) return why;
  const Lock lock(run_.mutex);
  Remake(producer, *piece, why);
  return {};
}

Status UnitRunner::Partition(Track& track, const Piece& piece, bool remade) {
  const Node& made_by = run_.graph.nodes()[static_cast<std::size_t>(track.origin->planned->node)];
  Status outcome = RunPartitionUnit(track.scope, *run_.arena, *track.origin->scope.directory, piece,
                                    made_by.out, EventsOf(track), run_.stop.get_token());
  if (!DamagedPiece(outcome)) return outcome;
  const Lock lock(run_.mutex);
  Track& origin = *track.origin;
  track.inputs[piece.id.input].begun.erase(piece.id.partition);
  if (remade) return outcome;
  Remake(origin, piece.id, outcome);
  if (origin.inputs[piece.id.input].pieces.standing.contains(piece.id.partition)) track.Offer(piece.id);
  return {};
}

void UnitRunner::Remake(Track& producer, PartitionId id, const Status& why) {
  if (!producer.remade.insert(id).second) return;  // another reader found it as well
  ++run_.remakes;
  const std::string unit = ToString(UnitId{producer.name(), id});
  run_.environment.progress->Note(StrCat(unit, " is damaged (", why.message(), ") and will be made again"));
  run_.failures.Log(UnitState::kVoid, unit, 0, std::string(why.message()));
  Track::Input& input = producer.inputs[id.input];
  input.pieces.standing.erase(id.partition);
  input.begun.erase(id.partition);
  if (producer.origin) producer.Offer(id);
  for (Track* reader : producer.readers)
    if (producer.planned->varies && reader->stands(id)) Remake(*reader, id, why);
  producer.publisher.reset();
  if (producer.phase != Track::Phase::kFailed) producer.phase = Track::Phase::kPieces;
  run_.Wake();
}

Status UnitRunner::PlanShards(Track& track) {
  std::vector<Piece> pieces;
  std::uint64_t remakes = 0;
  {
    const Lock lock(run_.mutex);
    if (!track.pieces_complete()) return SendBack(track);
    remakes = run_.remakes;
    pieces = track.all_pieces();
  }
  ArtifactSummary summary = Summarize(*run_.environment.log, *track.planned, pieces);
  {
    const Lock lock(run_.mutex);
    if (remakes != run_.remakes) return SendBack(track);
    track.summary = std::move(summary);
  }
  RETURN_IF_ERROR(CheckWhole(track.summary));
  // Before any shard is written. An origin's verdict counts here too: it may be one of an earlier run,
  // or not be spoken yet.
  RETURN_IF_ERROR(JudgeLine(track, track.summary));
  if (!track.planned->publishes) return Finish(track, pieces, Track::Phase::kPlanning);
  auto publisher = std::make_shared<Publisher>(track.scope, *track.out);
  Status begun = publisher->Begin(pieces, GroupMemory(run_.options));
  if (!begun.ok()) return Damaged(track, std::move(begun), true);
  run_.environment.progress->Advanced(track.name(), publisher->standing(), publisher->shards());
  const bool none_left = publisher->groups().empty();
  {
    const Lock lock(run_.mutex);
    track.publisher = publisher;
    track.next_group = track.groups_done = 0;
    track.phase = Track::Phase::kPublishing;
  }
  if (none_left) return Finish(track, pieces, Track::Phase::kPublishing);
  return {};
}

Status UnitRunner::WriteShards(Track& track, Publisher& publisher, std::size_t group) {
  Status outcome = publisher.RunGroup(group, GroupMemory(run_.options), run_.stop.get_token());
  std::vector<Piece> pieces;
  bool last = false, current = false;
  {
    const Lock lock(run_.mutex);
    pieces = track.all_pieces();
    current = track.publisher.get() == &publisher;
    if (outcome.ok()) last = current && ++track.groups_done == publisher.groups().size();
  }
  if (!outcome.ok()) return Damaged(track, std::move(outcome), current);
  run_.environment.progress->Advanced(track.name(), publisher.standing(), publisher.shards());
  return last ? Finish(track, pieces, Track::Phase::kPublishing) : Status();
}

Status UnitRunner::Damaged(Track& track, Status why, bool current) {
  const std::optional<PartitionId> piece = DamagedPiece(why);
  if (!piece) return why;
  const Lock lock(run_.mutex);
  if (current && track.remade.contains(*piece)) return why;
  Remake(track, *piece, why);
  return {};
}

Status UnitRunner::SendBack(Track& track) {
  track.phase = Track::Phase::kPieces;
  run_.Wake();
  return {};
}

Status UnitRunner::Finish(Track& track, const std::vector<Piece>& pieces, Track::Phase from) {
  if (run_.Does(Share::Of::kOneUnit)) return {};  // `pipe plan` does it, when it has seen all shards
  {
    const Lock lock(run_.mutex);
    if (!track.Advance(from, Track::Phase::kFinishing)) return {};
  }
  const Schema& schema = run_.graph.nodes()[static_cast<std::size_t>(track.planned->node)].out;
  if (track.publisher)
    RETURN_IF_ERROR(track.publisher->Finish(track.summary, schema));
  else if (!track.planned->takes_in)
    RETURN_IF_ERROR(FinishPieces(track.scope, schema, pieces, track.summary));
  return Done(track);
}

void UnitRunner::ForgetFailures(const Track& track) {
  RunLog& log = *run_.environment.log;
  for (const std::string& unit : log.FailedUnits(track.name() + "/")) {
    const UnitLine* done = log.FindDone(unit);
    const UnitLine again = done == nullptr ? UnitLine() : *done;
    const Lock lock(run_.mutex);
    if (done == nullptr)
      run_.failures.Log(UnitState::kVoid, unit, 0, "done since");
    else
      run_.failures.Log(again);  // what stood before stands still
  }
}

Status UnitRunner::Copy(Track& track) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> from, OpenPlace(run_.environment, track.planned->copy_from));
  RETURN_IF_ERROR(CopyArtifact(track.scope, *from, *track.out, run_.stop.get_token()));
  return Done(track);
}

Status UnitRunner::Done(Track& track) {
  {
    const Lock lock(run_.mutex);
    if (track.phase != Track::Phase::kFinishing) return {};
    track.phase = Track::Phase::kDone;
  }
  run_.environment.progress->StageDone(track.name());
  const std::string& place = track.planned->place;
  run_.environment.progress->Note(place.empty() || place.starts_with(kWorkPlace)
                                      ? StrCat("stage '", track.name(), "' is complete")
                                      : StrCat("stage '", track.name(), "' published ", place));
  ForgetFailures(track);
  const Lock lock(run_.mutex);
  track.Advance(Track::Phase::kFinishing, Track::Phase::kDone);
  return {};
}

}  // namespace pipeline
