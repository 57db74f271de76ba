#include "plugins/train/rows/row_supply.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/in_parallel.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/hosts/training_end.h"
#include "plugins/train/object_files.h"
#include "plugins/train/rows/row_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplit = "train";
constexpr std::size_t kBlocksAtOnce = 6;  // blocks
constexpr int kRangeTries = 3;            // of a range that came damaged on the way
constexpr std::uint64_t kSpare = 64 << 20;
constexpr std::uint64_t kMostChecksums = 1 << 30;
constexpr std::chrono::milliseconds kTryAgain{10'000};
constexpr std::chrono::milliseconds kLook{200};  // at a stop

std::uint64_t BytesOf(const std::vector<FileFacts>& files) {
  std::uint64_t bytes = 0;
  for (const FileFacts& file : files) bytes += file.bytes;
  return bytes;
}

/// Bytes of all files below a directory.
std::uint64_t BytesBelow(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) bytes += at->file_size(error);
  return bytes;
}

bool AllHere(const std::vector<FileFacts>& files, const std::string& directory) {
  return std::all_of(files.begin(), files.end(), [&](const FileFacts& file) {
    std::error_code error;
    return fs::file_size(fs::path(directory) / file.name, error) == file.bytes && !error;
  });
}

Result<std::string> ReadFileAt(const std::string& path, std::uint64_t most) {
  Result<std::string> text = ReadWholeFile(path);
  if (!text.ok() || text->size() > most) return Status(Code::kDataLoss, StrCat(path, ": cannot be read"));
  return text;
}

Status ReadLocal(const std::string& path, const std::function<Status(std::string_view bytes)>& take) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    RETURN_IF_ERROR(take({buffer.data(), static_cast<std::size_t>(file.gcount())}));
  }
  return file.eof() ? Status() : Status(Code::kDataLoss, StrCat(path, ": cannot be read"));
}

/// Workers look for the file. If the write fails, the worker waits for as long as its watchdog lets it.
void WriteSmall(const std::string& path, const std::string& text) {
  (void)WriteWholeFile(path, text, Durability::kSeen);
}

}  // namespace

RowSupply::RowSupply(const TrainJob& job, const PluginServices& call, ArtifactCopy copy)
    : job_(job),
      call_(call),
      storage_(*call.storage),
      copy_(std::move(copy)),
      data_digest_(DigestOf(copy_.manifest).ToHex()),
      checksums_uri_(StrCat(job.run_uri, "/", RowChecksumsName(data_digest_))) {}

RowSupply::~RowSupply() {
  closing_ = true;
  making_checksums_.request_stop();
  for (std::jthread& thread : threads_) thread.request_stop();
  { const Lock lock(mutex_); }  // the threads are either before their check or really waiting
  changed_.NotifyAll();
}

Result<std::unique_ptr<RowSupply>> RowSupply::Open(const TrainJob& job, const PluginServices& call,
                                                   const FreeBytes& free_bytes) {
  ASSIGN_OR_RETURN(ArtifactCopy copy,
                   LockArtifact(job.data_uri, job.data_manifest, job.kept + "/inputs", "the rows", call));
  std::unique_ptr<RowSupply> rows(new RowSupply(job, call, std::move(copy)));
  RETURN_IF_ERROR(rows->Arrange(free_bytes));
  return rows;
}

// --- The files.

Status RowSupply::Fetch(const std::vector<FileFacts>& files) {
  return BringFiles(copy_, files, call_, [this](std::uint64_t bytes) { fetched_ += bytes; });
}

bool RowSupply::IsPacked() const {
  return std::any_of(copy_.files.begin(), copy_.files.end(),
                     [](const FileFacts& file) { return file.name == kRowsInfo; });
}

Status RowSupply::Arrange(const FreeBytes& free_bytes) {
  all_bytes_ = BytesOf(copy_.files);
  const bool is_given = job_.settings["data_disk"].is_int();
  ASSIGN_OR_RETURN(const std::uint64_t free, free_bytes(copy_.directory));
  limit_ = is_given ? static_cast<std::uint64_t>(job_.settings["data_disk"].AsInt())
                    : (free + BytesBelow(copy_.directory)) / 2;
  std::set<std::string_view> shards;
  for (const Json& shard : copy_.parsed["shards"].AsArray())
    if (shard["split"].AsString() == kSplit) shards.insert(shard["object"].AsString());
  const std::string blocks = copy_.directory + "/blocks";
  std::error_code error;
  if (all_bytes_ <= limit_ || shards.empty() || (!is_given && AllHere(copy_.files, copy_.directory))) {
    fs::remove_all(blocks, error);
    whole_bytes_ = all_bytes_;
    RETURN_IF_ERROR(Fetch(copy_.files));
    ASSIGN_OR_RETURN(used_, UseDirectory(copy_.directory));
    copy_.lock = FileDescriptor();
    return {};
  }
  if (!IsPacked())
    return Status(
        Code::kResourceExhausted,
        StrCat(copy_.directory, ": the pairs of sentences of ", copy_.from, " are fetched as a whole, take ",
               HumanBytes(all_bytes_), ", and may take ", HumanBytes(limit_), ", ",
               is_given ? "the value of `data_disk`" : "half of the free disk", "; set `data_disk` to ",
               all_bytes_, " or more, or run with --work on a larger disk"));
  // Another training on this machine may be reading the shards.
  bool told = false;
  ASSIGN_OR_RETURN(used_, WaitForUsers(copy_.directory, [&] {
                     if (!std::exchange(told, true))
                       call_.log(
                           Level::kInfo,
                           StrCat(job_.stage, ": waits for another training, which reads ", copy_.directory));
                     return call_.stopped();
                   }));
  blocks_directory_ = blocks;
  for (const std::string_view shard : shards) fs::remove(fs::path(copy_.directory) / shard, error);
  std::vector<FileFacts> whole = copy_.files;
  std::erase_if(whole, [&](const FileFacts& file) { return shards.contains(file.name); });
  return ArrangeBlocks(whole, free_bytes);
}

Status RowSupply::ArrangeBlocks(const std::vector<FileFacts>& whole, const FreeBytes& free_bytes) {
  whole_bytes_ = BytesOf(whole);
  const auto too_little = [&](std::uint64_t least, std::string_view of_train) {
    return Status(
        Code::kResourceExhausted,
        StrCat(copy_.directory, ": `data_disk` is ", HumanBytes(limit_), " (", limit_,
               " bytes) on this host, all rows of ", copy_.from, " have ", HumanBytes(all_bytes_),
               ", and a training needs ", of_train, HumanBytes(least), " (", least,
               " bytes) of them at a time; set `data_disk` to that or more, on a disk that has it"));
  };
  if (whole_bytes_ > limit_) return too_little(whole_bytes_, "beside the split `train` ");
  RETURN_IF_ERROR(Fetch(whole));
  RETURN_IF_ERROR(ReadBlocks());
  const std::uint64_t least = blocks_->LeastBytes();
  if (whole_bytes_ + least > limit_) return too_little(whole_bytes_ + least, "");
  std::error_code error;
  fs::create_directories(blocks_directory_, error);
  if (error) return SystemError(StrCat("making the directory ", blocks_directory_), error.value());
  ASSIGN_OR_RETURN(const std::uint64_t free, free_bytes(blocks_directory_));
  const std::uint64_t usable = free + BytesBelow(blocks_directory_);
  if (usable < least + kSpare)
    return Status(Code::kResourceExhausted,
                  StrCat(blocks_directory_, ": a training needs ", HumanBytes(least), " of the rows of ",
                         copy_.from, " at a time, and ", HumanBytes(free),
                         " are free there; free some, or run with --work on a larger disk"));
  const Lock lock(mutex_);
  planner_.emplace(*blocks_, static_cast<std::uint64_t>(job_.settings["seed"].AsInt()),
                   std::min(limit_ - whole_bytes_, usable - kSpare));
  peak_ = whole_bytes_;
  return {};
}

Status RowSupply::ReadBlocks() {
  const std::string path = StrCat(copy_.directory, "/", kRowsInfo);
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(path, kMostPacked));
  const Result<Json> packed = Json::Parse(text);
  if (!packed.ok()) return Status(Code::kDataLoss, StrCat(path, ": is not JSON"));
  ASSIGN_OR_RETURN(blocks_, RowBlocks::Read(*packed, kSplit, copy_.files, copy_.directory));
  return {};
}

FileFacts RowSupply::FactsOf(std::size_t range) const {
  const RowRange& found = blocks_->ranges()[range];
  return {.name = found.Name(), .bytes = found.bytes(), .crc32c = checksums_[range]};
}

// --- The checksums.

Status RowSupply::CheckWhole() const {
  if (blocks_directory_.empty()) return {};
  return Status(
      Code::kResourceExhausted,
      StrCat(directory(),
             ": an external trainer needs all rows here, and they take more than `data_disk`, which "
             "is half of the free disk if it is absent; free some space, or raise it"));
}

void RowSupply::BeginChecksums() {
  making_checksums_ = std::jthread([this](const std::stop_token& stop) {
    while (true) {
      Status made = MakeChecksums();
      const bool may_pass = made.code() == Code::kUnavailable && !stopped();
      Lock lock(mutex_);
      if (!may_pass) {
        checksums_ended_ = std::move(made);
        changed_.NotifyAll();
        return;
      }
      call_.log(Level::kWarning, StrCat("the checksums of the rows: ", made.message(), "; trying again"));
      for (auto waited = kLook; waited < kTryAgain && !stopped(); waited += kLook)
        (void)changed_.WaitFor(lock, stop, kLook, [] { return false; });
    }
  });
}

std::optional<Status> RowSupply::ChecksumsEnded() const {
  const Lock lock(mutex_);
  return checksums_ended_;
}

Status RowSupply::AwaitChecksums() const {
  Lock lock(mutex_);
  while (!checksums_ended_) (void)changed_.WaitFor(lock, kLook, [] { return false; });
  return *checksums_ended_;
}

Status RowSupply::MakeChecksums() {
  if (!IsPacked()) return {};
  if (!blocks_) RETURN_IF_ERROR(ReadBlocks());
  ASSIGN_OR_RETURN(const auto found, storage_.ReadWhole(checksums_uri_, kMostChecksums));
  if (found) {
    const Result<RowChecksums> good = ParseRowChecksums(found->bytes, *blocks_, data_digest_, checksums_uri_);
    if (good.ok()) return {};
    call_.log(Level::kWarning, StrCat(good.status().message(), "; it is made again"));
  }
  ASSIGN_OR_RETURN(const RowChecksums made, Measure());
  ASSIGN_OR_RETURN(const auto written, WriteIfKnown(storage_, checksums_uri_,
                                                    EncodeRowChecksums(made, *blocks_, data_digest_, kSplit),
                                                    found ? found->version : std::string()));
  if (!written) return Status(Code::kUnavailable, StrCat(checksums_uri_, ": was changed meanwhile"));
  return {};
}

Result<RowChecksums> RowSupply::Measure() {
  std::atomic<std::uint64_t> done = 0;
  const std::uint64_t of = BytesOf(blocks_->shards());
  Mutex telling;
  std::uint64_t told = 0;
  const auto note = [&](std::size_t bytes) {
    const std::uint64_t now = done += bytes;
    const Lock lock(telling);
    if (now < told + of / 100) return;
    told = now;
    call_.Progress(
        static_cast<std::int64_t>(now), static_cast<std::int64_t>(of),
        StrCat("reading all rows once for their checksums: ", HumanBytes(now), " of ", HumanBytes(of)));
  };
  return MeasureRows(*blocks_, [&](const FileFacts& shard, const auto& take) -> Status {
    const auto counted = [&](std::string_view bytes) -> Status {
      if (stopped()) return Status(Code::kCancelled, "stopped");
      note(bytes.size());
      return take(bytes);
    };
    if (!blocks_directory_.empty())
      return StreamObject(storage_, StrCat(copy_.from, "/", shard.name), counted);
    return ReadLocal(StrCat(copy_.directory, "/", shard.name), counted);
  });
}

Status RowSupply::LoadChecksums() {
  ASSIGN_OR_RETURN(const auto found, storage_.ReadWhole(checksums_uri_, kMostChecksums));
  if (!found) return Status(Code::kUnavailable, StrCat(checksums_uri_, ": host 0 has not written it yet"));
  ASSIGN_OR_RETURN(checksums_, ParseRowChecksums(found->bytes, *blocks_, data_digest_, checksums_uri_));
  return {};
}

// --- The blocks.

Status RowSupply::BeginAttempt(const std::function<bool()>& given_up) {
  if (blocks_directory_.empty()) return {};
  {
    const Lock lock(mutex_);
    ++attempt_;
    planner_->Forget();
    given_up_ = true;  // until this attempt is ready
    std::error_code error;
    for (const std::string& name : NamesIn(blocks_directory_))
      if (name.starts_with("heard-") || name.starts_with("failure"))
        fs::remove(fs::path(blocks_directory_) / name, error);
    if (!begun_) {
      RETURN_IF_ERROR(LoadChecksums());
      RETURN_IF_ERROR(FindRanges(given_up));
      begun_ = true;
    }
    given_up_ = false;
  }
  if (threads_.empty())
    for (std::size_t number = 0; number < kBlocksAtOnce; ++number)
      threads_.emplace_back([this](const std::stop_token& stop) { FetchLoop(stop); });
  return {};
}

Status RowSupply::FindRanges(const std::function<bool()>& given_up) {
  std::map<std::string, std::size_t> known;
  for (std::size_t at = 0; at < blocks_->ranges().size(); ++at)
    known.emplace(blocks_->ranges()[at].Name(), at);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(blocks_directory_));
  std::vector<std::atomic<bool>> right(blocks_->ranges().size());
  RETURN_IF_ERROR(InParallel(names.size(), kBlocksAtOnce, [&](std::size_t at) -> Status {
    const auto range = known.find(names[at]);
    if (range == known.end()) return {};
    const Result<FileFacts> found =
        MeasureFile(blocks_directory_, names[at], [&] { return stopped() || given_up(); });
    if (found.status().code() == Code::kCancelled) return found.status();
    right[range->second] = found.ok() && *found == FactsOf(range->second);
    return {};
  }));
  std::set<std::string> kept;
  for (std::uint64_t block = 0; block < blocks_->count(); ++block) {
    const std::size_t first = blocks_->FirstRange(block), count = blocks_->RangesOf(block).size();
    bool whole = true;
    for (std::size_t at = first; at < first + count; ++at) whole = whole && right[at];
    if (!whole || !planner_->Found(block)) continue;
    for (const RowRange& range : blocks_->RangesOf(block)) kept.insert(range.Name());
  }
  std::error_code error;
  for (const std::string& name : names)
    if (!kept.contains(name)) fs::remove(fs::path(blocks_directory_) / name, error);
  peak_ = std::max(peak_, whole_bytes_ + planner_->held());
  return {};
}

void RowSupply::Remove(std::uint64_t block) const {
  std::error_code error;
  for (const RowRange& range : blocks_->RangesOf(block)) fs::remove(PathOf(range), error);
}

void RowSupply::Hear(const Json& event) {
  if (blocks_directory_.empty()) return;
  const std::int64_t worker = event["worker"].AsInt(), sample = event["sample"].AsInt(-1);
  if (sample < 0) return;
  {
    const Lock lock(mutex_);
    planner_->Want(worker, {.shuffled = event["shuffled"].AsBool(true),
                            .sample = static_cast<std::uint64_t>(sample),
                            .reading = event["reading"].AsBool(true)});
    for (const std::uint64_t block : planner_->TakeUnwanted()) Remove(block);
  }
  changed_.NotifyAll();
  WriteSmall(StrCat(blocks_directory_, "/heard-", worker), StrCat(event["id"].AsInt()));
}

void RowSupply::FetchLoop(const std::stop_token& stop) {
  while (true) {
    std::optional<std::uint64_t> block;
    int attempt = 0;
    {
      Lock lock(mutex_);
      (void)changed_.Wait(lock, stop, [&]() REQUIRES(mutex_) {
        if (!given_up_) block = planner_->StartNext();
        return block.has_value();
      });
      if (stop.stop_requested()) return;
      attempt = attempt_;
      peak_ = std::max(peak_, whole_bytes_ + planner_->held());
    }
    const Status fetched = FetchBlock(*block);
    {
      const Lock lock(mutex_);
      if (fetched.ok()) {
        ++fetched_blocks_;
        if (!planner_->Arrived(*block)) Remove(*block);
      } else {
        Remove(*block);
        planner_->Failed(*block);
        if (attempt == attempt_) GiveUp(fetched);
      }
    }
    changed_.NotifyAll();
  }
}

Status RowSupply::FetchBlock(std::uint64_t block) {
  const std::size_t first = blocks_->FirstRange(block);
  for (std::size_t at = first; at < first + blocks_->RangesOf(block).size(); ++at) {
    const RowRange& range = blocks_->ranges()[at];
    const std::string uri = StrCat(copy_.from, "/", blocks_->shards()[range.shard].name);
    const auto moved = [this](std::uint64_t bytes) { fetched_ += bytes; };
    for (int tries = 1;; ++tries) {
      const Status fetched = FetchPart(storage_, uri, range.from, FactsOf(at), PathOf(range), moved,
                                       [this] { return stopped(); });
      const bool may_pass = fetched.code() == Code::kUnavailable || fetched.code() == Code::kDataLoss;
      if (may_pass && tries < kRangeTries && !stopped()) continue;
      RETURN_IF_ERROR(fetched);
      break;
    }
  }
  return {};
}

void RowSupply::GiveUp(const Status& why) {
  if (std::exchange(given_up_, true) || why.code() == Code::kCancelled) return;
  const Json failure = Json::Object{
      {"code", why.code() == Code::kDataLoss ? kExitDamagedData : kExitTryAgain}, {"error", why.message()}};
  WriteSmall(blocks_directory_ + "/failure.json", failure.Dump());
}

// --- The report.

std::uint64_t RowSupply::peak() const {
  const Lock lock(mutex_);
  return blocks_directory_.empty() ? all_bytes_ : peak_;
}

Json RowSupply::Report() const {
  const std::uint64_t most = peak();
  call_.log(Level::kInfo,
            StrCat(job_.stage, ": host ", job_.position.host, " fetched ", HumanBytes(fetched_),
                   " of rows, and had at most ", HumanBytes(most), " of ", HumanBytes(all_bytes_),
                   " on its disk at a time (data_disk: ", HumanBytes(limit_), ")"));
  return Json::Object{{"v", 1},
                      {"kind", "rows_fetched"},
                      {"host", job_.position.host},
                      {"bytes", fetched_.load()},
                      {"peak", most},
                      {"of", all_bytes_},
                      {"data_disk", limit_},
                      {"blocks", fetched_blocks_.load()}};
}

}  // namespace pipeline
