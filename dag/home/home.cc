#include "dag/home/home.h"

#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "dag/books/log_file.h"
#include "dag/books/run_log_line.h"
#include "dag/location/held_store.h"
#include "dag/location/holder.h"
#include "storage/forwarding_store.h"

namespace pipeline {

namespace {

/// Says what the home needs if a right is missing.
Status WithRights(Status why, std::string_view location) {
  if (why.code() != Code::kPermissionDenied) return why;
  std::string words =
      StrCat(location, ": the home of a run needs the rights to create, list, read, replace and ",
             "remove objects (storage.objects.delete is needed to replace one): ", why.message());
  return std::move(why).Reword(std::move(words));
}

}  // namespace

Home::Home(std::string location, std::unique_ptr<Store> bare)
    : location_(std::move(location)), bare_(std::move(bare)) {}

Home::~Home() {
  log_.reset();
  keeper_.reset();
}

Result<std::unique_ptr<Home>> Home::Hold(const std::string& location, std::unique_ptr<Store> root,
                                         const LeaseTerms& terms,
                                         const std::function<void(std::string_view)>& note,
                                         std::stop_token stop) {
  std::unique_ptr<Home> home(new Home(location, std::move(root)));
  Result<std::unique_ptr<LeaseKeeper>> keeper =
      LeaseKeeper::Take({{location, home->bare_.get()}}, terms, SystemLeaseWait(), SystemClock(), note, stop);
  if (!keeper.ok()) return WithRights(std::move(keeper).status(), location);
  home->keeper_ = std::move(*keeper);
  // A home that cannot be written to its end is refused before any work: this replaces an object.
  if (Status confirmed = home->keeper_->Confirm(location, stop); !confirmed.ok())
    return WithRights(std::move(confirmed), location);
  home->keeper_->Start([at = home.get()](const Status& why) { at->Lose(why); });
  home->root_ =
      HoldStore(std::make_unique<ForwardingStore>(*home->bare_),
                [at = home.get()](std::stop_token stopped) { return at->Check(std::move(stopped)); });
  Result<std::string> holder = HolderOf(*home->root_);
  if (!holder.ok()) return WithRights(std::move(holder).status(), location);
  home->holder_ = std::move(*holder);
  return home;
}

Result<std::unique_ptr<RunLog>> Home::OpenLog(const std::string& path, std::stop_token stop) {
  ASSIGN_OR_RETURN(HomeLogText found, ReadHomeLog(*root_, stop));
  if (found.text.empty()) found.text = kRunLogFirstLine;
  // Lines of this machine that never reached the home count no more: another machine may have worked since.
  RETURN_IF_ERROR(ReplaceFile(path, found.text, SystemLogIo()));
  ASSIGN_OR_RETURN(std::unique_ptr<RunLog> log, RunLog::Open(path));
  RETURN_IF_ERROR(log->CompactIfWorthwhile());
  log_ = std::make_unique<HomeLog>(
      *root_, found.next, found.segments,
      HomeLog::Terms{
          .confirm =
              [this](std::stop_token stopped) { return keeper_->Confirm(location_, std::move(stopped)); },
          .whole = [path] { return ReadWholeFile(path); },
          .failed = [this](const Status& why) { Lose(why); }});
  ASSIGN_OR_RETURN(const std::string kept, ReadWholeFile(path));
  if (kept.size() < found.text.size()) RETURN_IF_ERROR(log_->WriteWhole(stop));
  log->SetMirror(log_.get());
  return log;
}

void Home::Watch(std::function<void(Status)> lost) {
  const Lock lock(mutex_);
  told_ = std::move(lost);
  if (told_ && !lost_.ok()) told_(lost_);
}

void Home::Lose(const Status& why) {
  const Lock lock(mutex_);
  if (!lost_.ok()) return;
  lost_ = why;
  if (told_) told_(lost_);
}

}  // namespace pipeline
