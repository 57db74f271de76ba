#include "cli/tpu/slice_renter.h"

#include <utility>

#include "base/enumeration.h"
#include "base/str.h"

namespace pipeline {

namespace {

using Why = SliceRefusal::Why;

constexpr std::string_view kStillCosts =
    ": could not be deleted for half an hour, and still costs; delete it in the console of Google Cloud, "
    "then "
    "give the command again";

/// Whether two orders are for the same machine, but for its zone and the time in the queue.
bool SameWish(SliceOrder one, const SliceOrder& other) {
  one.name = other.name, one.zone = other.zone, one.labels = other.labels;
  one.wait_seconds = other.wait_seconds;
  return one == other;
}

/// `view`: a machine of our name without our labels.
Status Strangers(const SliceOrder& order, const SliceView& view) {
  return Status(
      Code::kFailedPrecondition,
      StrCat(order.zone, "/", order.name,
             view.labels.contains(kSliceLabel)
                 ? ": is there, and belongs to records at another place; name that place with "
                   "--records, or choose another name"
                 : ": is there, and `pipe` did not make it, so it stays as it is; choose another name"));
}

}  // namespace

bool IsOurs(const SliceView& view, const std::string& name, const std::string& key) {
  const auto has = [&view](const char* label, const std::string& value) {
    const auto found = view.labels.find(label);
    return found != view.labels.end() && found->second == value;
  };
  return has(kSliceLabel, name) && has(kKeyLabel, key);
}

SliceOrder OrderOf(const SliceView& view, const std::string& project) {
  SliceOrder order;
  order.name = view.name;
  order.project = project;
  order.zone = view.zone;
  order.type.type = view.type;
  order.type.queued = view.queued;
  order.labels = view.labels;
  return order;
}

std::chrono::milliseconds SliceRenter::Now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(means_.clock->Monotonic() - began_);
}

void SliceRenter::Tell(const SliceOrder& order, std::string_view said) {
  std::string line = StrCat(order.zone, "/", order.name, ": ", said);
  if (line == told_) return;
  told_ = std::move(line);
  means_.tell(told_);
}

SliceIntent SliceRenter::NextIntent(const SliceWish& wish, const NewestAttempt& newest) const {
  SliceIntent intent;
  intent.number = newest.number + 1;
  const bool goes_on = newest.end && newest.end->reason != kDownSlice && newest.end->reason != kRefusedSlice;
  if (newest.intent && goes_on) intent.refusals = newest.intent->refusals + 1;
  intent.order = wish.order;
  intent.order.zone = wish.zones[intent.refusals % wish.zones.size()];
  intent.order.labels[kSliceLabel] = wish.name;
  intent.order.labels[kKeyLabel] = records_.key();
  intent.order.labels[kAttemptLabel] = std::to_string(intent.number);
  intent.order.labels[kSecondsLabel] = std::to_string(wish.order.most_seconds);
  intent.order.name = MachineName(wish.name, intent.order.labels[kAttemptLabel]);
  return intent;
}

Result<RentedSlice> SliceRenter::Rent(const SliceWish& wish, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(NewestAttempt newest, records_.Read(stop));
  if (newest.open() && !SameWish(newest.intent->order, wish.order))
    return Status(
        Code::kFailedPrecondition,
        StrCat(wish.name, ": is rented as ", newest.intent->order.type.Describe(), " in ",
               newest.intent->order.zone,
               " with other settings than those asked for; give the same ones, or first: pipe tpu down ",
               wish.name));
  Begun begun = Begun::kBefore;
  bool first = true;  // a command that is given again does not wait for the round of another one
  while (true) {
    if (!newest.open()) {
      SliceIntent intent = NextIntent(wish, newest);
      const std::uint64_t rounds = intent.refusals / wish.zones.size();
      if (rounds > 0 && intent.refusals % wish.zones.size() == 0 && !first) {
        const std::chrono::seconds pause = RoundPause(rounds);
        means_.tell(StrCat("no zone gave a ", wish.order.type.Describe(),
                           "; the first one is tried again in ", pause.count() / 60, " min"));
        RETURN_IF_ERROR(means_.pause->For(pause, stop));
      }
      RETURN_IF_ERROR(means_.confirm());
      RETURN_IF_ERROR(records_.Begin(intent, stop));
      newest = NewestAttempt{intent.number, std::move(intent), std::nullopt, std::nullopt};
      begun = Begun::kNow;
    }
    first = false;
    ASSIGN_OR_RETURN(Outcome outcome, RunAttempt(*newest.intent, begun,
                                                 newest.leave ? newest.leave->reason : std::string(), stop));
    if (outcome.ready) return RentedSlice{newest.intent->order, std::move(outcome.view)};
    RETURN_IF_ERROR(outcome.failure);
    newest.end = std::move(outcome.end);
  }
}

Status SliceRenter::TakeRefusal(const Status& refused, SliceLife& life, Outcome& outcome) const {
  const auto* const refusal = refused.Detail<SliceRefusal>();
  if (refusal == nullptr) return refused;
  if (outcome.end.said.empty()) outcome.end.said = refused.message();
  if (refusal->why == Why::kCapacity) {
    life.Release(Now(), kNoCapacity);
    return {};
  }
  outcome.failure = refused;
  life.Release(Now(), kRefusedSlice);
  return {};
}

Status SliceRenter::Ask(const SliceIntent& intent, SliceLife& life, SliceRequest& request, Outcome& outcome,
                        const std::stop_token& stop) {
  const SliceOrder& order = intent.order;
  RETURN_IF_ERROR(means_.confirm());
  Tell(order, StrCat("asks for ", order.spot ? "a spot " : "", order.type.Describe()));
  Result<SliceRequest> asked = cloud_.Ask(order, stop);
  if (asked.ok()) {
    request = *std::move(asked);
    life.Asked(Now(), true);
    return {};
  }
  const Status& refused = asked.status();
  const auto* const refusal = refused.Detail<SliceRefusal>();
  if (refusal != nullptr && refusal->why == Why::kTaken) return life.Asked(Now(), true), Status();
  if (refused.code() == Code::kUnavailable) {
    life.Asked(Now(), false);
    Tell(order, StrCat("no answer, so it is asked again: ", refused.message()));
    return {};
  }
  if (refused.code() == Code::kCancelled) life.Asked(Now(), false);
  return TakeRefusal(refused, life, outcome);
}

Status SliceRenter::EndDenied(const SliceIntent& intent, const Status& denied, bool may_exist,
                              const std::stop_token& stop) const {
  if (!may_exist)
    RETURN_IF_ERROR(
        records_.End({intent.number, std::string(kRefusedSlice), std::string(denied.message())}, stop));
  return denied;
}

Result<SliceRenter::Outcome> SliceRenter::RunAttempt(const SliceIntent& intent, Begun begun,
                                                     std::string_view leaves, const std::stop_token& stop) {
  const SliceOrder& order = intent.order;
  const std::string& name = order.labels.at(kSliceLabel);
  const std::string& key = order.labels.at(kKeyLabel);
  began_ = means_.clock->Monotonic();
  SliceLife life(means_.times, std::chrono::seconds(order.wait_seconds));
  SliceRequest request;
  Outcome outcome;
  outcome.end.number = intent.number;
  bool may_exist = begun == Begun::kBefore, left = false;
  std::chrono::milliseconds answered = Now();  // when the cloud did
  if (!leaves.empty()) life.Release(Now(), leaves);
  bool looked = false;
  while (true) {
    Result<SliceView> view = cloud_.Look(order, request, stop);
    if (!view.ok()) {
      if (view.status().code() == Code::kUnavailable) {
        if (Now() - answered > means_.times.leaving) return view.status();
        Tell(order, StrCat("the cloud does not answer; it is asked again: ", view.status().message()));
        RETURN_IF_ERROR(means_.pause->For(means_.times.look, stop));
        continue;
      }
      const bool of_request = !std::exchange(request, {}).operation.empty();  // its failure is told once
      if (!of_request && view.status().Detail<SliceRefusal>() != nullptr)
        return EndDenied(intent, view.status(), may_exist, stop);
      RETURN_IF_ERROR(TakeRefusal(view.status(), life, outcome));
      continue;
    }
    answered = Now();
    if (view->state != SliceState::kAbsent && !IsOurs(*view, name, key)) {
      RETURN_IF_ERROR(
          records_.End({intent.number, std::string(kRefusedSlice), "a stranger's machine"}, stop));
      return Strangers(order, *view);
    }
    // A command that was killed may have sent a request at any moment; none was sent since the machine came.
    if (!leaves.empty() && !std::exchange(looked, true) &&
        std::chrono::seconds(view->age.value_or(0)) < means_.times.late())
      life.Asked(Now(), false);
    if (!view->said.empty()) Tell(order, view->said);
    // A request that is given back anyway may have failed for any reason.
    if (!view->failure.ok() && leaves.empty()) RETURN_IF_ERROR(TakeRefusal(view->failure, life, outcome));
    const SliceAct act = life.Seen(Now(), view->state);
    switch (act.kind) {
      case SliceAct::Kind::kReady:
        outcome.ready = true;
        outcome.view = *std::move(view);
        return outcome;
      case SliceAct::Kind::kGone:
        outcome.end.reason = act.reason;
        RETURN_IF_ERROR(records_.End(outcome.end, stop));
        Tell(order, StrCat("is gone (", act.reason, ")"));
        return outcome;
      case SliceAct::Kind::kGiveUp:
        return Status(Code::kUnavailable, StrCat(order.zone, "/", order.name, kStillCosts));
      case SliceAct::Kind::kAsk:
        may_exist = true;
        RETURN_IF_ERROR(Ask(intent, life, request, outcome, stop));
        break;
      case SliceAct::Kind::kRelease: {
        if (outcome.end.said.empty()) outcome.end.said = view->said;
        outcome.end.reason = act.reason;
        if (!std::exchange(left, true)) RETURN_IF_ERROR(records_.Leave(outcome.end, stop));
        const Status removed = cloud_.Remove(order, stop);
        if (!removed.ok() && removed.code() != Code::kUnavailable) return removed;
        if (!removed.ok()) Tell(order, StrCat("is not deleted yet: ", removed.message()));
        break;
      }
      case SliceAct::Kind::kLook: break;
    }
    RETURN_IF_ERROR(means_.pause->For(means_.times.look, stop));
  }
}

Status SliceRenter::RemoveLeft(const std::string& name, const std::string& project,
                               const std::stop_token& stop) {
  const std::chrono::nanoseconds began = means_.clock->Monotonic();
  while (true) {
    std::vector<std::string> left_out;
    ASSIGN_OR_RETURN(const std::vector<SliceView> machines, cloud_.List(project, left_out, stop));
    std::vector<std::string> left;
    for (const SliceView& machine : machines) {
      if (!IsOurs(machine, name, records_.key())) continue;
      const SliceOrder order = OrderOf(machine, project);
      left.push_back(StrCat(order.zone, "/", order.name));
      Tell(order, machine.said);
      if (machine.state == SliceState::kLeaving) continue;
      const Status removed = cloud_.Remove(order, stop);
      if (!removed.ok() && removed.code() != Code::kUnavailable) return removed;
    }
    if (left.empty()) return ZonesLeftOut(left_out);
    if (means_.clock->Monotonic() - began > means_.times.leaving)
      return Status(Code::kUnavailable, StrCat(Join(left, ", "), kStillCosts));
    RETURN_IF_ERROR(means_.pause->For(means_.times.look, stop));
  }
}

Status SliceRenter::GiveBack(const std::string& name, const std::string& project,
                             const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const NewestAttempt newest, records_.Read(stop));
  if (newest.open()) {
    ASSIGN_OR_RETURN(const Outcome outcome, RunAttempt(*newest.intent, Begun::kBefore, kDownSlice, stop));
    RETURN_IF_ERROR(outcome.failure);
  }
  return RemoveLeft(name, newest.intent ? newest.intent->order.project : project, stop);
}

}  // namespace pipeline
