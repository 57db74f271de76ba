#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/byte_reader.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "dag/books/location_log.h"
#include "dag/books/manifest.h"
#include "stages/all/builtin.h"
#include "storage/directory.h"
#include "storage/kept_part.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/local_store.h"
#include "storage/remote/listing.h"
#include "storage/remote/object_copy.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

struct CpOptions {
  std::string from;
  std::string to;
  bool recursive = false;
  bool replaces = false;  // replaces existing objects that differ
};

constexpr int kTurns = 3;
/// Objects that are copied at once. A large one holds 8 MiB of memory on its way to a bucket; the others
/// mostly wait for answers.
constexpr int kLargeAtOnce = 4, kAtOnce = 16;
constexpr std::uint64_t kLarge = 1 << 20;

/// One object to be copied.
struct Item {
  std::string from;  // as it would be typed, with its secrets
  std::string name;  // in the target
  std::uint64_t size = 0;
  std::function<RemoteFile()> open;  // as Listed::open
};

/// An object that is not copied.
struct LeftOut {
  std::string location;  // as it is shown
  std::string why;
};

struct Items {
  std::vector<Item> wanted;
  std::vector<LeftOut> left_out;
};

struct Target {
  std::unique_ptr<Store> store;
  Uri root;
  /// The objects of a remote store that gets many, because each would take a request. Absent: each is asked
  /// for.
  std::optional<std::map<std::string, ObjectInfo>> there = std::nullopt;
};

/// Returns the turn in which an object is copied. The manifest comes last, so that nobody sees an incomplete
/// artifact; the signs by which trainers know that it is complete come before it.
int TurnOf(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (last == kManifestName) return 2;
  for (const ExportFormat& format : ExportFormats())
    if (std::find(format.signs.begin(), format.signs.end(), last) != format.signs.end()) return 1;
  return 0;
}

/// Returns the location without secrets, for messages.
std::string Shown(const std::string& location) {
  const Result<Uri> uri = Uri::Parse(location);
  return uri.ok() && uri->scheme->form == Scheme::Form::kWeb ? ShownUrl(location) : location;
}

/// Removes what the program keeps at the location of an artifact for itself: its lock, its lease, its log.
void RemoveOwnObjects(std::vector<Item>& items) {
  std::set<std::string, std::less<>> artifacts;  // "" or "DIRECTORY/"
  for (const Item& item : items)
    if (TurnOf(item.name) == 2)
      artifacts.insert(item.name.substr(0, item.name.size() - kManifestName.size()));
  std::erase_if(items, [&](const Item& item) {
    const std::size_t own = StrCat("/", item.name).rfind(StrCat("/", kOwnPrefix));
    return own != std::string::npos && artifacts.contains(std::string_view(item.name).substr(0, own));
  });
}

/// Returns the objects to copy, with their names below `from`; a single object has its own last name.
Result<Items> FindItems(StoreOpener& stores, const std::string& from, bool recursive,
                        const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(from));
  std::vector<Listed> found;
  const auto keep = [&](const Listed& listed) -> Status {
    found.push_back(listed);
    // The first object tells whether `from` is a directory.
    return recursive ? Status() : Status(Code::kCancelled, "enough");
  };
  const Status listed =
      ListLocation(stores, from, recursive ? ListDepth::kAll : ListDepth::kLevel, keep, stop);
  if (!listed.ok() && (recursive || found.empty())) return listed;
  const std::string self = uri.scheme->lists ? uri.ToString() : ShownUrl(from);
  const bool is_object = !found.empty() && found.front().location == self && !found.front().is_directory;
  Items items;
  if (is_object && found.size() == 1) {
    items.wanted.push_back({uri.scheme->lists ? self : from, std::string(uri.LastPart()), found.front().size,
                            std::move(found.front().open)});
    return items;
  }
  if (!recursive)
    return Status(Code::kInvalidArgument, StrCat(from, ": is a directory; -r copies all that is below it"));
  const std::size_t above = self.size() + (self.back() == '/' ? 0 : 1);
  for (Listed& one : found) {
    if (!one.no_object.empty()) {
      items.left_out.push_back({std::move(one.location), std::move(one.no_object)});
    } else if (one.location.size() > above) {
      items.wanted.push_back({one.location, one.location.substr(above), one.size, std::move(one.open)});
    } else {
      items.left_out.push_back(
          {one.location,
           "is an object beside a directory of its name; copy it by itself, and the rest from FROM/"});
    }
  }
  RemoveOwnObjects(items.wanted);
  return items;
}

/// OK: the target can have an object of this name; only the name is checked.
Status CheckName(StoreOpener& stores, const Target& target, std::string_view name) {
  if (target.root.is_local()) return CheckLocalName(name);
  return stores.OpenerOf(target.root).CheckName(target.root.Join(name).path);
}

/// Directories that lack an object, so that nobody takes their other objects for the whole.
class Incomplete {
 public:
  /// The object `name` is not copied.
  void Add(std::string_view name) {
    for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = name.rfind('/', slash - 1))
      directories_.emplace(name.substr(0, slash));
    directories_.emplace();
  }
  /// Returns whether an object in the directory of `name`, or below it, is not copied.
  bool IsBeside(std::string_view name) const {
    const std::size_t slash = name.rfind('/');
    return directories_.contains(slash == std::string_view::npos ? std::string_view()
                                                                 : name.substr(0, slash));
  }

 private:
  std::set<std::string, std::less<>> directories_;
};

/// Removes the items that the target cannot have.
void LeaveOut(StoreOpener& stores, const Target& target, Items& items, Incomplete& incomplete) {
  Incomplete directories;  // of the local target
  if (target.root.is_local())
    for (const Item& item : items.wanted) directories.Add(item.name);
  std::vector<Item> wanted;
  for (Item& item : items.wanted) {
    Status fits = CheckName(stores, target, item.name);
    if (fits.ok() && target.root.is_local() && directories.IsBeside(StrCat(item.name, "/")))
      fits = Status(Code::kInvalidArgument,
                    "others lie below it, and a directory cannot have a file and a directory of one name");
    if (fits.ok()) {
      wanted.push_back(std::move(item));
      continue;
    }
    incomplete.Add(item.name);
    items.left_out.push_back({Shown(item.from), std::string(fits.message())});
  }
  items.wanted = std::move(wanted);
}

/// Opens the target of the items, and gives a single item its name there.
Result<Target> OpenTarget(StoreOpener& stores, const CpOptions& options, std::vector<Item>& items) {
  ASSIGN_OR_RETURN(Uri uri, Uri::Parse(options.to));
  Target target;
  std::error_code ignored;  // a directory that cannot be read cannot be written to; the write reports it
  const bool into = options.to.back() == '/' || uri.path.empty() ||
                    (uri.is_local() && std::filesystem::is_directory(uri.path, ignored));
  if (!options.recursive && !into) {
    items.front().name = uri.LastPart();
    uri.path.resize(uri.path.size() - items.front().name.size());
    while (uri.path.size() > 1 && uri.path.back() == '/') uri.path.pop_back();
    if (uri.path.empty() && uri.is_local()) uri.path = ".";
  }
  ASSIGN_OR_RETURN(target.store, stores.Open(uri.ToString()));
  target.root = std::move(uri);
  return target;
}

/// OK for a user who may write, but not list: others look and clean up there.
Status Allowed(Status status) { return status.code() == Code::kPermissionDenied ? Status() : status; }

/// Removes the temporaries of killed processes from the directories of the items.
Status PrepareDirectories(const Target& target, const std::vector<Item>& items) {
  std::set<std::string> directories;
  for (const Item& item : items) directories.insert(ParentDirectory(target.root.Join(item.name).path));
  for (const std::string& directory : directories) RETURN_IF_ERROR(SweepDirectory(directory));
  return {};
}

/// Ends uploads that killed processes left, and lists the objects of the target.
Status Prepare(StoreOpener& stores, Target& target, const std::vector<Item>& items) {
  if (target.root.is_local()) return PrepareDirectories(target, items);
  if (items.empty()) return {};
  if (items.size() == 1) {
    // The store is opened at the object, so that its Sweep does not list the objects beside it.
    const std::string location = target.root.Join(items.front().name).ToString();
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, stores.Open(location));
    return Allowed(store->Sweep(""));
  }
  RETURN_IF_ERROR(Allowed(target.store->Sweep("")));
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, target.store->List(""));
  target.there.emplace();
  for (ObjectInfo& object : objects) target.there->emplace(object.name, std::move(object));
  return {};
}

class Copying {
 public:
  /// `left_out`: the number of objects that are not among the items; `incomplete`: the directories that lack
  /// them.
  Copying(StoreOpener& stores, Target& target, const std::vector<Item>& items, bool replaces,
          std::size_t left_out, Incomplete incomplete, std::stop_token stop)
      : stores_(stores),
        target_(target),
        items_(items),
        replaces_(replaces),
        stop_(std::move(stop)),
        left_out_(left_out),
        incomplete_(std::move(incomplete)) {
    std::uint64_t bytes = 0;
    for (const Item& item : items) bytes += item.size;
    progress_ = std::make_shared<RunningUnit>("cp", std::vector<std::string>(), bytes);
  }

  const std::shared_ptr<RunningUnit>& progress() const { return progress_; }
  bool left_out_any() const {
    const Lock lock(mutex_);
    return left_out_ > 0;
  }

  /// Copies all items of one turn, several at a time. False: the next turn would be of no use.
  bool RunTurn(int turn) {
    next_ = 0;
    const auto work = [this, turn] {
      for (std::size_t at = next_++; at < items_.size() && !ends_ && !stop_.stop_requested(); at = next_++)
        if (TurnOf(items_[at].name) == turn) Take(items_[at], turn);
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(kAtOnce, items_.size()); ++i)
      threads.emplace_back(work);
    threads.clear();
    return !ends_ && !stop_.stop_requested();
  }

  std::string Summary() const {
    const Lock lock(mutex_);
    std::string line = StrCat("copied ", Counted(copied_, "object"), ", ", HumanBytes(copied_bytes_));
    if (there_ > 0)
      line += StrCat("; ", Counted(there_, "object"), there_ == 1 ? " was" : " were", " there already");
    if (left_out_ > 0) line += StrCat("; ", left_out_, left_out_ == 1 ? " was" : " were", " left out");
    return line;
  }

 private:
  void Take(const Item& item, int turn) {
    std::atomic<std::uint64_t> read = 0;
    bool is_of_item = false;
    if (item.size >= kLarge) large_.acquire();
    const Result<CopyOutcome> outcome = Copy(item, turn, read, is_of_item);
    if (item.size >= kLarge) large_.release();
    progress_->input_read -= read;
    const Lock lock(mutex_);
    if (outcome.ok()) {
      progress_->input_read += item.size;
      (*outcome == CopyOutcome::kCopied ? copied_ : there_) += 1;
      if (*outcome == CopyOutcome::kCopied) copied_bytes_ += item.size;
      progress_->Say(StrCat(copied_ + there_, " of ", items_.size(), " objects, ",
                            HumanBytes(progress_->input_read), " of ", HumanBytes(progress_->input_bytes)));
      return;
    }
    const Code code = outcome.status().code();
    if (code == Code::kCancelled && stop_.stop_requested()) return;
    LogError(outcome.status().message());
    ++left_out_;
    incomplete_.Add(item.name);
    // A fault of one object does not concern the next one; a server or a disk that fails does.
    if (!is_of_item)
      ends_ = code != Code::kAlreadyExists && code != Code::kNotFound && code != Code::kDataLoss &&
              code != Code::kInvalidArgument && code != Code::kFailedPrecondition;
  }

  /// `is_of_item`: a failure does not concern the other items.
  Result<CopyOutcome> Copy(const Item& item, int turn, std::atomic<std::uint64_t>& read, bool& is_of_item) {
    is_of_item = true;
    if (turn > 0) {
      const Lock lock(mutex_);
      if (incomplete_.IsBeside(item.name))
        return Status(
            Code::kFailedPrecondition,
            StrCat(target_.root.Join(item.name).ToString(), ": is left out, since an object beside or ",
                   "below it was: nobody should take the rest for the whole"));
    }
    Result<CopyOutcome> outcome = CopyAsListed(item, item.open, read, is_of_item);
    if (!item.open || outcome.ok() || outcome.status().code() != Code::kDataLoss) return outcome;
    // The object may have been replaced since it was listed; then the new one is wanted.
    progress_->input_read -= read.exchange(0);
    return CopyAsListed(item, {}, read, is_of_item);
  }

  /// `open`: as Listed::open.
  Result<CopyOutcome> CopyAsListed(const Item& item, const std::function<RemoteFile()>& open,
                                   std::atomic<std::uint64_t>& read, bool& is_of_item) {
    Result<CopySource> opened = OpenSource(item, open);
    is_of_item = !IsRemote(item.from) && opened.status().code() == Code::kPermissionDenied;
    if (!opened.ok()) return std::move(opened).status();
    CopySource source = std::move(opened).value();
    // Bytes that servers or the kernel copy, or that are sent directly from a file, are counted at the end of
    // the item.
    if (IsRemote(item.from) && Uri::Parse(item.from)->scheme != target_.root.scheme)
      source.file = std::make_shared<CountingFile>(
          source.file, [all = &progress_->input_read, own = &read](std::uint64_t, std::string_view bytes) {
            *all += bytes.size(), *own += bytes.size();
          });
    CopyTarget to{*target_.store, item.name, target_.root.Join(item.name).ToString(), replaces_, {}};
    if (target_.root.is_local()) to.part = KeptPartPath(target_.root.Join(item.name).path);
    to.went_on = [&](std::uint64_t bytes) {
      LogInfo(StrCat(to.shown, ": ", HumanBytes(bytes), " of ", HumanBytes(item.size),
                     " are here from an earlier copy; this one goes on behind them"));
      progress_->input_read += bytes;
      read += bytes;
    };
    if (!target_.there) {
      ASSIGN_OR_RETURN(to.there, target_.store->Stat(item.name));
    } else if (const auto there = target_.there->find(item.name); there != target_.there->end()) {
      to.there = there->second;
    }
    return CopyObject(source, to, stop_);
  }

  Result<CopySource> OpenSource(const Item& item, const std::function<RemoteFile()>& open) {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(item.from));
    CopySource source{ShownUrl(item.from), nullptr, {}};
    if (uri.is_local()) {
      source.name = uri.path;
      ASSIGN_OR_RETURN(source.file, Shared(LocalFile::Open(uri.path)));
      return source;
    }
    // The opener is the target's, because servers copy only objects of one account.
    RemoteFile file;
    if (open) {
      file = open();
    } else {
      ASSIGN_OR_RETURN(file, stores_.OpenFile(item.from, {Patience::kRun}, stop_));
    }
    source.file = std::move(file.bytes);
    source.crc32c = file.crc32c;
    source.version = std::move(file.identity);
    return source;
  }

  template <class File>
  static Result<std::shared_ptr<const ByteFile>> Shared(Result<std::unique_ptr<File>> file) {
    if (!file.ok()) return std::move(file).status();
    return std::shared_ptr<const ByteFile>(std::move(file).value());
  }

  StoreOpener& stores_;
  Target& target_;
  const std::vector<Item>& items_;
  const bool replaces_;
  const std::stop_token stop_;
  std::shared_ptr<RunningUnit> progress_;  // shared with the display
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ends_ = false;
  std::counting_semaphore<kLargeAtOnce> large_{kLargeAtOnce};
  mutable Mutex mutex_;
  std::uint64_t left_out_ GUARDED_BY(mutex_);
  std::uint64_t copied_ GUARDED_BY(mutex_) = 0;
  std::uint64_t copied_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t there_ GUARDED_BY(mutex_) = 0;
  Incomplete incomplete_ GUARDED_BY(mutex_);
};

int RefuseOrStop(const SignalWatch& signals, const Status& why) {
  if (signals.exit_code() != 0) return signals.exit_code();
  LogError(why.message());
  const bool refused = why.code() == Code::kInvalidArgument || why.code() == Code::kNotFound;
  return refused ? kExitRefused : kExitFailed;
}

int Copy(const CpOptions& options) {
  SignalWatch signals;
  std::optional<Attendance> attendance(std::in_place, signals.token());
  StatusDisplay display(false);
  const Result<Uri> to = Uri::Parse(options.to);
  if (!to.ok()) return RefuseOrStop(signals, to.status());
  StoreOpener stores;
  if (!to->scheme->writable) {
    const Result<std::unique_ptr<Store>> store = stores.Open(options.to);
    return RefuseOrStop(signals,
                        store.ok() ? (*store)->Sweep("") : store.status());  // Sweep gives the reason
  }
  if (!to->is_local())
    if (const Status ready = stores.OpenerOf(*to).PrepareToWrite(); !ready.ok()) return Refuse(ready);
  Result<Items> items = FindItems(stores, options.from, options.recursive, signals.token());
  if (!items.ok()) return RefuseOrStop(signals, items.status());
  if (items->wanted.empty() && items->left_out.empty())
    return RefuseOrStop(signals, Status(Code::kNotFound, StrCat(options.from, ": holds nothing to copy")));
  Result<Target> target = OpenTarget(stores, options, items->wanted);
  if (!target.ok()) return RefuseOrStop(signals, target.status());
  Incomplete incomplete;
  LeaveOut(stores, *target, *items, incomplete);
  for (const LeftOut& one : items->left_out) LogError(StrCat(one.location, ": is left out: ", one.why));
  if (const Status ready = Prepare(stores, *target, items->wanted); !ready.ok())
    return RefuseOrStop(signals, ready);

  attendance.reset();
  Copying copying(stores, *target, items->wanted, options.replaces, items->left_out.size(),
                  std::move(incomplete), signals.token());
  copying.progress()->Say("");
  display.Started(copying.progress());
  display.Start();
  for (int turn = 0; turn < kTurns && copying.RunTurn(turn);) ++turn;
  display.Stop();
  PrintLine(copying.Summary());
  if (signals.exit_code() != 0) {
    LogInfo("stopped; the copied objects are kept: the same command goes on with the rest");
    return signals.exit_code();
  }
  return copying.left_out_any() ? kExitFailed : kExitDone;
}

}  // namespace

Command CpCommand() {
  const auto options = std::make_shared<CpOptions>();
  return {
      .name = "cp",
      .help = "Copy from any place to any other; objects that exist there are left alone",
      .words = {{.value = "FROM",
                 .help = "An object; with -r a directory",
                 .required = true,
                 .to = &options->from},
                {.value = "TO",
                 .help = "A name for it; or a directory, which ends in / or exists",
                 .required = true,
                 .to = &options->to},
                {.flags = {"-r", "--recursive"},
                 .help = "Copy all below FROM to the same names below TO",
                 .to = &options->recursive},
                {.flags = {"--force"},
                 .help = "Replace objects that exist with other bytes",
                 .to = &options->replaces}},
      .run = [options](const Call&) { return Copy(*options); },
  };
}

}  // namespace pipeline
