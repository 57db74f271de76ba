#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/report/html.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "cli/tpu/slice_records.h"
#include "cli/tpu/slice_renter.h"
#include "cli/tpu/tpu_api.h"
#include "cli/workspace/pipeline_words.h"
#include "cli/workspace/workspace.h"
#include "dag/location/holder.h"
#include "dag/location/lease_keeper.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/machine_metadata.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostName = 40;

struct TpuOptions {
  std::string action, name;
  std::string type, zones, project, image;
  std::string time, wait = "30m";
  std::string network, subnetwork, service_account;
  std::string records = ".pipe/tpu";
  bool on_demand = false, internal_ips = false, dry_run = false;
};

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

/// A part of the names of machines, and the value of a label.
Status CheckName(const std::string& name) {
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return small(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (!name.empty() && name.size() <= kMostName && small(name.front()) && name.back() != '-' &&
      std::all_of(name.begin(), name.end(), fits))
    return {};
  return Wrong(name.empty() ? std::string("NAME: name the slice, such as: pipe tpu up mine")
                            : StrCat("NAME: '", name,
                                     "': a name has small letters, digits and -, begins with a "
                                     "letter, and has at most ",
                                     kMostName, " of them"));
}

std::vector<std::string> ListOf(const std::string& words) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    if (end > at) list.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

/// A word of an address of the API; no character of it needs an escape.
Status CheckWord(std::string_view what, const std::string& word) {
  const auto fits = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '.';
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), fits)) return {};
  return Wrong(StrCat(what, ": '", word, "' is no name of Google Cloud"));
}

Result<std::string> ProjectOf(const TpuOptions& options, const std::stop_token& stop) {
  std::string project = options.project;
  const EnvironmentLookup environment = ProcessEnvironment();
  for (const char* name : {"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"})
    if (project.empty()) project = environment(name).value_or("");
  if (project.empty()) {
    ASSIGN_OR_RETURN(const std::optional<std::string> told, ReadMachineMetadata("project/project-id", stop));
    project = told.value_or("");
  }
  if (project.empty())
    return Wrong("--project: name the project of Google Cloud, or set GOOGLE_CLOUD_PROJECT");
  RETURN_IF_ERROR(CheckWord("--project", project));
  return project;
}

Result<SliceWish> WishOf(const TpuOptions& options) {
  SliceWish wish;
  wish.name = options.name;
  if (options.type.empty()) return Wrong("--type: name the slice that is wanted, such as --type v3-8");
  ASSIGN_OR_RETURN(wish.order.type, ParseSliceType(options.type));
  wish.zones = ListOf(options.zones);
  if (wish.zones.empty())
    return Wrong("--zones: name zones to try, such as --zones us-central1-a,europe-west4-a");
  for (const std::string& zone : wish.zones) RETURN_IF_ERROR(CheckWord("--zones", zone));
  if (options.time.empty())
    return Wrong("--for: name the time after which the slice gives itself back, such as --for 24h");
  wish.order.most_seconds = static_cast<std::uint64_t>(ParseTimeWord(options.time)->count());
  wish.order.wait_seconds = static_cast<std::uint64_t>(ParseTimeWord(options.wait)->count());
  if (!options.image.empty()) {
    RETURN_IF_ERROR(CheckWord("--image", options.image));
    wish.order.type.image = options.image;
  }
  wish.order.spot = !options.on_demand;
  wish.order.network = options.network;
  wish.order.subnetwork = options.subnetwork;
  wish.order.service_account = options.service_account;
  wish.order.external_ips = !options.internal_ips;
  return wish;
}

/// The records of one slice, held by this process alone until its end. Its token stops together with `stop`,
/// or when another process has taken the records.
class HeldRecords {
 public:
  static Result<std::unique_ptr<HeldRecords>> Take(const TpuOptions& options, const std::stop_token& stop) {
    std::unique_ptr<HeldRecords> held(new HeldRecords(stop));
    const std::string place = held->place_ = StrCat(options.records, "/", options.name);
    ASSIGN_OR_RETURN(held->store_, OpenStore(place));
    LeaseTerms terms;
    terms.holder = RandomName(32);
    terms.host = BootId();
    terms.who = NameOfProcess();
    ASSIGN_OR_RETURN(terms.every, LeasePeriodFromEnvironment());
    ASSIGN_OR_RETURN(held->keeper_, LeaseKeeper::Take(
                                        {{place, held->store_.get()}}, terms, SystemLeaseWait(),
                                        SystemClock(), [](std::string_view line) { LogInfo(line); }, stop));
    held->keeper_->Start([raw = held.get()](const Status& lost) {
      LogError(lost.message());
      raw->stop_.Stop();
    });
    ASSIGN_OR_RETURN(std::string key, HolderOf(*held->store_));
    held->records_.emplace(*held->store_, std::move(key));
    return held;
  }

  const SliceRecords& records() const { return *records_; }
  /// OK: no other process has taken the records.
  Status Confirm() const { return keeper_->Check(place_, token()); }
  /// Whether a machine may be there. A stop does not end the look.
  bool open() const {
    const Result<NewestAttempt> newest = records_->Read({});
    return newest.ok() && newest->open();
  }
  std::stop_token token() const { return stop_.token(); }

 private:
  explicit HeldRecords(const std::stop_token& stop) : stop_(stop, {}) {}

  EitherStop stop_;
  std::string place_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LeaseKeeper> keeper_;  // ends before the store and the stop that it uses
  std::optional<SliceRecords> records_;
};

/// A line of `pipe tpu ls`, its parts between tabs.
std::string LineOf(const SliceView& view) {
  return StrCat(view.name, "\t", view.said, "\t", view.type, "\t", view.zone, "\t",
                view.spot ? "spot" : "on demand", "\t",
                view.age ? Span(static_cast<double>(*view.age)) : std::string("-"), "\t",
                view.addresses.empty() ? std::string("-") : Join(view.addresses, " "));
}

/// Why a machine is to be given back; empty: it is not.
std::string_view WhyOver(const SliceView& view) {
  // One that leaves, waits or comes is in the hands of somebody's command, which bounds these times.
  if (view.state == SliceState::kLeaving || view.state == SliceState::kQueued ||
      view.state == SliceState::kComing)
    return {};
  if (view.state == SliceState::kLost) return "is of no use any more";
  const auto label = view.labels.find(kSecondsLabel);
  if (label == view.labels.end() || !view.age) return {};
  const std::optional<std::int64_t> seconds = ParseNumber<std::int64_t>(label->second);
  return seconds && *view.age > *seconds ? "is over its time" : std::string_view();
}

class TpuRun {
 public:
  /// `look`: the time between two looks at a machine.
  TpuRun(const TpuOptions& options, SliceCloud& cloud, std::string project, std::chrono::milliseconds look,
         std::stop_token stop)
      : options_(options), cloud_(cloud), project_(std::move(project)), look_(look), stop_(std::move(stop)) {}

  Status Up(const SliceWish& wish) {
    ASSIGN_OR_RETURN(const std::unique_ptr<HeldRecords> held, HeldRecords::Take(options_, stop_));
    SliceRenter renter(cloud_, held->records(), Means(*held));
    const Result<RentedSlice> slice = renter.Rent(wish, held->token());
    if (!slice.ok()) {
      if (held->open())
        LogInfo(StrCat("a machine may be there or come: `pipe tpu up ", wish.name,
                       "` goes on, `pipe tpu down ", wish.name, "` gives it back"));
      return slice.status();
    }
    const SliceOrder& order = slice->order;
    const bool one = order.type.slices == 1;
    const auto left = static_cast<std::int64_t>(order.most_seconds) - slice->view.age.value_or(0);
    PrintLine(LineOf(slice->view));
    LogInfo(StrCat(order.name, " is ready; log in: gcloud compute tpus tpu-vm ssh ", order.name,
                   one ? "" : "-0", " --zone ", order.zone, " --project ", order.project,
                   "; give it back: pipe tpu down ", wish.name));
    LogInfo(StrCat("it gives itself back in ", Span(static_cast<double>(std::max<std::int64_t>(left, 0))),
                   " if its service account has roles/tpu.admin; otherwise it costs until somebody does"));
    return {};
  }

  Status Down() {
    RETURN_IF_ERROR(CheckRecords());
    ASSIGN_OR_RETURN(const std::unique_ptr<HeldRecords> held, HeldRecords::Take(options_, stop_));
    SliceRenter renter(cloud_, held->records(), Means(*held));
    const Status given = renter.GiveBack(options_.name, project_, held->token());
    if (!given.ok()) {
      if (held->open()) LogInfo(StrCat(options_.name, ": is not given back yet; give the command again"));
      return given;
    }
    LogInfo(StrCat(options_.name, ": no machine of it is left"));
    return {};
  }

  Status List() {
    ASSIGN_OR_RETURN(const std::vector<SliceView> machines, All());
    for (const SliceView& machine : machines) PrintLine(LineOf(machine));
    if (machines.empty()) LogInfo(StrCat(project_, ": `pipe` has rented nothing here"));
    return ZonesLeftOut(left_out_);
  }

  Status CollectDead() {
    ASSIGN_OR_RETURN(const std::vector<SliceView> machines, All());
    Status failed;
    for (const SliceView& machine : machines) {
      const std::string_view why = WhyOver(machine);
      if (why.empty()) continue;
      PrintLine(LineOf(machine));
      const std::string where = StrCat(machine.zone, "/", machine.name, ": ", why);
      if (options_.dry_run) {
        LogInfo(where + "; without -n it is deleted");
        continue;
      }
      const Status removed = cloud_.Remove(OrderOf(machine, project_), stop_);
      if (stop_.stop_requested()) return removed;
      LogInfo(where + (removed.ok() ? "; it is deleted" : "; it is not deleted"));
      if (failed.ok()) failed = removed;  // the others cost, too
    }
    RETURN_IF_ERROR(failed);
    return ZonesLeftOut(left_out_);
  }

 private:
  RenterMeans Means(const HeldRecords& held) const {
    RenterMeans means;
    means.confirm = [&held] { return held.Confirm(); };
    means.times.look = look_;
    means.tell = [](std::string_view line) { LogInfo(line); };
    return means;
  }

  /// The records of another place know nothing of a machine, which would go on.
  Status CheckRecords() {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                     OpenStore(StrCat(options_.records, "/", options_.name)));
    ASSIGN_OR_RETURN(const NewestAttempt newest, SliceRecords(*store, "").Read(stop_));
    if (newest.number > 0) return {};
    ASSIGN_OR_RETURN(const std::vector<SliceView> machines, All());
    std::vector<std::string> there;
    for (const SliceView& machine : machines)
      if (machine.labels.at(kSliceLabel) == options_.name)
        there.push_back(StrCat(machine.zone, "/", machine.name));
    return Status(Code::kNotFound,
                  StrCat(options_.records, "/", options_.name, ": has no records of a slice",
                         there.empty() ? std::string("; `pipe tpu ls` lists all that are there")
                                       : StrCat(", and ", Join(there, ", "),
                                                " is there; name the place of its records with "
                                                "--records, as for `pipe tpu up`")));
  }

  Result<std::vector<SliceView>> All() { return cloud_.List(project_, left_out_, stop_); }

  const TpuOptions& options_;
  SliceCloud& cloud_;
  const std::string project_;
  const std::chrono::milliseconds look_;
  const std::stop_token stop_;
  std::vector<std::string> left_out_;
};

/// `refused`: nothing was done.
Status Run(const TpuOptions& options, bool& refused, const std::stop_token& stop) {
  refused = true;
  const bool named = options.action == "up" || options.action == "down";
  if (named) RETURN_IF_ERROR(CheckName(options.name));
  if (!named && !options.name.empty())
    return Wrong(StrCat("NAME: `pipe tpu ", options.action, "` is about all slices; leave it out"));
  if (options.dry_run && options.action != "gc") return Wrong("-n: is for `pipe tpu gc`");
  if (!ParseTimeWord(options.wait))
    return Wrong(StrCat("--wait: '", options.wait, "' is no time such as 90s, 30m or 2h"));
  SliceWish wish;
  if (options.action == "up") {
    ASSIGN_OR_RETURN(wish, WishOf(options));
  }
  ASSIGN_OR_RETURN(const std::string project, ProjectOf(options, stop));
  wish.order.project = project;
  ASSIGN_OR_RETURN(const std::unique_ptr<SliceCloud> cloud, OpenTpuApi(ProcessEnvironment()));
  ASSIGN_OR_RETURN(const std::chrono::milliseconds look,
                   PeriodFromEnvironment("PIPE_TPU_LOOK", SliceTimes().look));
  refused = false;
  TpuRun run(options, *cloud, project, look, stop);
  if (options.action == "up") return run.Up(wish);
  if (options.action == "down") return run.Down();
  return options.action == "ls" ? run.List() : run.CollectDead();
}

int RunTpu(const TpuOptions& options) {
  SignalWatch signals;
  // `up` and `down` have work that an outage of minutes must not end.
  std::optional<Attendance> attendance;
  if (options.action == "ls" || options.action == "gc") attendance.emplace(signals.token());
  bool refused = false;
  const Status done = Run(options, refused, signals.token());
  if (signals.exit_code() != 0) return signals.exit_code();
  if (done.ok()) return FinishStandardOutput(kExitDone);
  LogError(StrCat("pipe tpu ", options.action, ": ", done.message()));
  // Another process has the records, or they are about something else: nothing was done. A refusal of the
  // cloud has a SliceRefusal.
  const bool not_now = done.code() == Code::kNotFound || done.code() == Code::kFailedPrecondition;
  return refused || (not_now && done.Detail<SliceRefusal>() == nullptr) ? kExitRefused : kExitFailed;
}

}  // namespace

Command TpuCommand() {
  const auto options = std::make_shared<TpuOptions>();
  const auto text = [](const char* flag, const char* value, const char* help, std::string& to) {
    return Word{.flags = {flag}, .value = value, .help = help, .to = &to};
  };
  return {
      .name = "tpu",
      .help =
          "Rent a slice of TPUs of Google Cloud (up), list all (ls), give one back (down), or those that are "
          "dead "
          "or over their time (gc)",
      .words =
          {{.value = "ACTION",
            .help = "The action",
            .required = true,
            .choices = {"up", "ls", "down", "gc"},
            .to = &options->action},
           {.value = "NAME", .help = "The name of the slice, for up and down", .to = &options->name},
           text("--type", "SLICE", "up: the slice, such as v3-8, v5e-4 or 2xv5e-16", options->type),
           text("--zones", "ZONES", "up: the zones to try, in this order", options->zones),
           TimeWord(options->time, "up: the time after which the slice gives itself back, such as 24h"),
           text("--wait", "TIME", "up: the most time in the queue of one zone (default 30m)", options->wait),
           {.flags = {"--on-demand"},
            .help = "up: a machine that is not taken back, for several times the price of a spot machine",
            .to = &options->on_demand},
           text("--project", "PROJECT",
                "The project (default: that of GOOGLE_CLOUD_PROJECT, or of this machine)", options->project),
           text("--image", "VERSION", "up: the runtime version (default: that of the type)", options->image),
           text("--network", "NAME", "up: the network (default: that of the project)", options->network),
           text("--subnetwork", "NAME", "up: the subnetwork", options->subnetwork),
           {.flags = {"--internal-ips"},
            .help = "up: no addresses on the internet",
            .to = &options->internal_ips},
           text("--service-account", "EMAIL", "up: the account of the machines", options->service_account),
           text("--records", "PLACE",
                "The place of the records, a directory or gs://BUCKET/NAME (default .pipe/tpu)",
                options->records),
           {.flags = {"-n", "--dry-run"}, .help = "gc: only show", .to = &options->dry_run}},
      .run = [options](const Call&) { return RunTpu(*options); },
  };
}

}  // namespace pipeline
