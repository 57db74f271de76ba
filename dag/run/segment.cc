#include "dag/run/segment.h"

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "base/thread_priority.h"
#include "dag/run/committer_thread.h"
#include "dag/run/cpu_watch.h"

namespace pipeline {

struct Arena::State {
  // Without the control oneTBB silently gives no more threads than there are cores.
  explicit State(int slots)
      : control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(slots)),
        arena(slots) {}
  tbb::global_control control;
  tbb::task_arena arena;
  Mutex alone;  // held while a batch runs alone, so units that run at the same time have one such batch
};

Arena::Arena(int slots) : state_(std::make_unique<State>(slots)) {}
Arena::~Arena() = default;

namespace {

constexpr std::size_t kKeptBytes = 2 << 20;  // of a column of a batch that is used again
constexpr int kBatchesBeforeMore = 16;       // that need no smaller number of tokens, before it grows

/// Adds the time of its scope to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<std::uint64_t>& counter)
      : counter_(counter), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    const auto spent = std::chrono::steady_clock::now() - begin_;
    counter_.fetch_add(static_cast<std::uint64_t>(spent.count()), std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::atomic<std::uint64_t>& counter_;
  const std::chrono::steady_clock::time_point begin_;
};

/// The scratch for one pass through the chain: a Worker for each Transform. Leased, never thread-local: a
/// thread that waits inside oneTBB may be given another batch of the same segment.
using WorkerSet = std::vector<std::unique_ptr<Worker>>;

}  // namespace

struct SegmentScratch::State {
  /// Things that are lent to one user at a time and come back. Safe from any thread.
  template <class T>
  class Pool {
   public:
    std::unique_ptr<T> Take() {
      const Lock lock(mutex_);
      if (free_.empty()) return nullptr;
      std::unique_ptr<T> taken = std::move(free_.back());
      free_.pop_back();
      return taken;
    }
    void Return(std::unique_ptr<T> lent) {
      const Lock lock(mutex_);
      free_.push_back(std::move(lent));
    }

   private:
    Mutex mutex_;
    std::vector<std::unique_ptr<T>> free_ GUARDED_BY(mutex_);
  };

  Pool<Batch> batches;
  Pool<WorkerSet> worker_sets;
};

SegmentScratch::SegmentScratch() : state_(std::make_unique<State>()) {}
SegmentScratch::~SegmentScratch() = default;

class SegmentRun {
 public:
  SegmentRun(Source& source, const SegmentSpec& spec, SegmentOutput& output, SegmentProgress& progress,
             SegmentScratch& scratch, std::stop_token stop)
      : source_(source),
        spec_(spec),
        output_(output),
        progress_(progress),
        stop_(std::move(stop)),
        priority_(source.decodes_on_one_thread() ? ThreadPriority::kLow : ThreadPriority::kNormal),
        batches_(scratch.state_->batches),
        worker_sets_(scratch.state_->worker_sets),
        tokens_(spec.tokens),
        least_fitting_(spec.tokens) {}

  Status Run(Arena& arena) {
    for (std::size_t i = 0; i < spec_.tokens; ++i) batches_.Return(std::make_unique<Batch>());
    committer_.emplace(
        [this](ClosedPartition partition) {
          const CpuWatch watch(progress_.cpu_ns);
          return output_.Commit(std::move(partition));
        },
        spec_.waiting_partitions);
    do {
      if (held_ && tokens_ == 1)
        RunAlone(arena);
      else
        arena.state_->arena.execute([this] { tbb::this_task_arena::isolate([this] { RunTogether(); }); });
    } while (held_);
    RETURN_IF_ERROR(committer_->Finish());
    return std::move(outcome_);
  }

  Status RunHere() {
    const CpuWatch watch(progress_.cpu_ns);
    while (std::unique_ptr<Batch> batch = Read()) RunBatch(std::move(batch));
    return std::move(outcome_);
  }

 private:
  /// Runs batches through the chain until the Source ends, or until one of them changes `tokens_`: that one
  /// is held. All batches before it are collected then.
  void RunTogether() {
    using tbb::filter_mode;
    tbb::parallel_pipeline(
        tokens_,
        tbb::make_filter<void, Batch*>(filter_mode::serial_in_order, [this](tbb::flow_control& flow) {
          const CpuWatch watch(progress_.cpu_ns);
          std::unique_ptr<Batch> batch = Next();
          if (!batch) flow.stop();
          return batch.release();
        }) & tbb::make_filter<Batch*, Batch*>(filter_mode::parallel, [this](Batch* batch) {
          const CpuWatch watch(progress_.cpu_ns);
          SetThreadPriority(priority_);
          Process(*batch);
          return batch;
        }) & tbb::make_filter<Batch*, void>(filter_mode::serial_in_order, [this](Batch* batch) {
          const CpuWatch watch(progress_.cpu_ns);
          Collect(*batch);
          Return(std::unique_ptr<Batch>(batch));
        }));
  }

  /// Null: the end, or the next batch is held.
  std::unique_ptr<Batch> Next() {
    if (held_) return std::move(held_);
    std::unique_ptr<Batch> batch = Read();
    if (batch && ChangesTokens(*batch)) held_ = std::move(batch);
    return batch;
  }

  /// Runs the held batch while no other is alive in this unit, and holds the next one.
  void RunAlone(Arena& arena) {
    {
      const Lock lock(arena.state_->alone);
      arena.state_->arena.execute([this] {
        const CpuWatch watch(progress_.cpu_ns);
        RunBatch(std::move(held_));
      });
    }
    const CpuWatch watch(progress_.cpu_ns);
    held_ = Read();
    if (held_) ChangesTokens(*held_);
  }

  void RunBatch(std::unique_ptr<Batch> batch) {
    Process(*batch);
    Collect(*batch);
    Return(std::move(batch));
  }

  /// Sees each batch once, in the order of the Source. If the text of `tokens_` batches of this size is more
  /// than spec.text_bytes, fewer are alive from this batch on. If none of the last batches needs that, more
  /// are.
  bool ChangesTokens(const Batch& batch) {
    const std::uint64_t fit = spec_.text_bytes / std::max<std::uint64_t>(batch.text.bytes(), 1);
    const auto fitting = static_cast<std::size_t>(std::clamp<std::uint64_t>(fit, 1, spec_.tokens));
    least_fitting_ = std::min(least_fitting_, fitting);
    const bool fewer = fitting < tokens_;
    if (!fewer && ++seen_ < kBatchesBeforeMore) return false;
    const std::size_t tokens = fewer ? fitting : least_fitting_;
    seen_ = 0;
    least_fitting_ = spec_.tokens;
    return std::exchange(tokens_, tokens) != tokens;
  }

  /// Null: the end.
  std::unique_ptr<Batch> Read() {
    if (source_ended_ || ending_.load(std::memory_order_relaxed)) return nullptr;
    std::unique_ptr<Batch> batch = batches_.Take();
    if (!batch) batch = std::make_unique<Batch>();
    batch->Clear(spec_.stages);
    Result<bool> more = false;
    if (stop_.stop_requested()) {
      more = Status(Code::kCancelled, "stopped");
    } else {
      const Stopwatch watch(progress_.busy_ns[spec_.source_stage]);
      more = source_.Next(*batch);
    }
    batch->sequence = next_sequence_++;
    if (!more.ok()) {
      // The failure travels as the last token, so that all before it is committed in order.
      source_ended_ = true;
      source_failure_.store(batch.get());
      batch->status = std::move(more).status();
    } else if (!*more) {
      source_ended_ = true;
      Return(std::move(batch));
      return nullptr;
    }
    return batch;
  }

  /// Gives the batch to the next records. The memory of one that had a long record is freed, because it would
  /// stay as long as the segment.
  void Return(std::unique_ptr<Batch> batch) {
    batch->quarantine.clear();
    if (batch->text.bytes() <= kKeptBytes && batch->payload.bytes() <= kKeptBytes)
      batches_.Return(std::move(batch));
  }

  void Process(Batch& batch) {
    if (!batch.status.ok() || ending_.load(std::memory_order_relaxed)) return;
    try {
      Result<std::unique_ptr<WorkerSet>> workers = LeaseWorkers();
      if (!workers.ok()) {
        batch.status = std::move(workers).status();
        return;
      }
      const std::unique_ptr<BatchProbe> probe =
          spec_.watch ? spec_.watch->Watch(batch, spec_.names) : nullptr;
      std::uint32_t stage = 0;
      for (std::size_t i = 0; i < spec_.transforms.size() && batch.status.ok(); ++i) {
        if (probe && spec_.transforms[i].stage != stage) probe->Left(stage, batch);
        stage = spec_.transforms[i].stage;
        Apply(*(**workers)[i], spec_.transforms[i], batch);
      }
      if (probe && batch.status.ok()) probe->Left(stage, batch);
      worker_sets_.Return(std::move(*workers));
    } catch (const std::exception& error) {  // an exception that crosses a filter would leak the token
      batch.status = Status(Code::kInternal, StrCat("a stage threw: ", error.what(), " [this is a bug]"));
    } catch (...) {
      batch.status = Status(Code::kInternal, "a stage threw [this is a bug]");
    }
  }

  void Apply(Worker& worker, const ChainTransform& transform, Batch& batch) {
    const Stopwatch watch(progress_.busy_ns[transform.stage]);
    StageCounts& counts = batch.counts[transform.stage];
    const std::uint64_t records = batch.size();
    const std::uint64_t bytes = batch.text.bytes();
    batch.status = worker.Apply(batch, transform.stage, counts);
    if (!transform.counted) return;
    if (transform.stage == 0) {  // the Source has counted its records; its repair may only remove some
      counts.records_out -= records - batch.size();
      counts.bytes_out += batch.text.bytes() - bytes;
    } else {
      counts.records_in += records;
      counts.bytes_in += bytes;
      counts.records_out += batch.size();
      counts.bytes_out += batch.text.bytes();
    }
  }

  Result<std::unique_ptr<WorkerSet>> LeaseWorkers() {
    std::unique_ptr<WorkerSet> workers = worker_sets_.Take();
    if (workers) return workers;
    workers = std::make_unique<WorkerSet>();
    for (const ChainTransform& each : spec_.transforms) {
      ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, each.transform->NewWorker());
      workers->push_back(std::move(worker));
    }
    return workers;
  }

  /// Runs in order. Batches come in sequence, so the first failure is that of the lowest record.
  void Collect(Batch& batch) {
    if (ending_.load(std::memory_order_relaxed)) return;
    if (&batch == source_failure_.load()) {
      open_.reset();
      End(std::move(batch.status));
      return;
    }
    if (!open_ || open_->id != batch.partition) Begin(batch.partition);
    if (open_->failure.ok()) Write(batch);
    if (batch.closes) {
      open_->end = batch.end;
      Close();
    }
  }

  void Begin(PartitionId id) {
    open_.emplace();
    open_->id = id;
    open_->counts.resize(spec_.stages);
    totals_.assign(spec_.splits.size(), {});
    last_document_.assign(spec_.splits.size(), std::nullopt);
    Result<std::unique_ptr<Sink>> sink = output_.Open(id);
    if (sink.ok())
      open_->sink = std::move(*sink);
    else
      Fail(std::move(sink).status(), std::nullopt);
  }

  void Write(Batch& batch) {
    if (!batch.status.ok()) return Fail(std::move(batch.status), batch.failed_index);
    const Stopwatch watch(progress_.busy_ns[spec_.stages - 1]);
    for (std::size_t stage = 0; stage < batch.counts.size(); ++stage)
      open_->counts[stage] += batch.counts[stage];
    open_->records += batch.size();
    CountSplits(batch);
    progress_.records.fetch_add(batch.size(), std::memory_order_relaxed);
    progress_.text_bytes.fetch_add(batch.text.bytes(), std::memory_order_relaxed);
    if (!batch.quarantine.empty()) {
      Status kept = output_.Keep(batch.partition, batch.quarantine);
      if (!kept.ok()) return Fail(std::move(kept), std::nullopt);
    }
    Status written = open_->sink->Write(batch);
    if (!written.ok()) Fail(std::move(written), std::nullopt);
  }

  void CountSplits(const Batch& batch) {
    const bool payload = batch.payload.size() == batch.size();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::size_t split = batch.split.empty() ? 0 : batch.split[row];
      ArtifactTotals::Split& total = totals_[split];
      ++total.records;
      total.bytes += payload ? batch.payload[row].size() : batch.text[row].size();
      if (last_document_[split] != batch.heads[row].document) {
        last_document_[split] = batch.heads[row].document;
        ++total.documents;
      }
    }
  }

  void Fail(Status why, std::optional<std::uint64_t> index) {
    open_->failure = std::move(why);
    open_->failed_index = index;
    open_->sink.reset();
    open_->counts.clear();
  }

  void Close() {
    for (std::size_t split = 0; split < totals_.size(); ++split)
      if (totals_[split].records > 0) open_->splits.emplace(spec_.splits[split], totals_[split]);
    ClosedPartition closed = std::move(*open_);
    open_.reset();
    progress_.partitions.fetch_add(1, std::memory_order_relaxed);
    const Stopwatch watch(progress_.busy_ns[spec_.stages]);
    Status added = committer_ ? committer_->Add(std::move(closed)) : output_.Commit(std::move(closed));
    if (!added.ok()) End(std::move(added));
  }

  void End(Status why) {
    outcome_ = std::move(why);
    ending_.store(true, std::memory_order_relaxed);
  }

  Source& source_;
  const SegmentSpec& spec_;
  SegmentOutput& output_;
  SegmentProgress& progress_;
  const std::stop_token stop_;
  // With the priority of the decoder's thread, the threads that process batches take a fifth of its time.
  const ThreadPriority priority_;  // of the threads that process batches
  SegmentScratch::State::Pool<Batch>& batches_;
  SegmentScratch::State::Pool<WorkerSet>& worker_sets_;

  // Touched by the in-order source filter and, between two pipelines, by the thread of Run.
  std::size_t tokens_;         // batches alive at the same time
  std::size_t least_fitting_;  // of the last `seen_` batches, see ChangesTokens
  int seen_ = 0;               // batches since `tokens_` was last looked at
  // The first batch of the next pipeline. Null behind a pipeline: the Source ended.
  std::unique_ptr<Batch> held_;
  std::uint64_t next_sequence_ = 0;
  bool source_ended_ = false;

  std::atomic<const Batch*> source_failure_{nullptr};  // the last token, if it carries a failure

  // Touched by the in-order sink filter alone.
  std::optional<ClosedPartition> open_;
  std::vector<ArtifactTotals::Split> totals_;
  std::vector<std::optional<std::uint64_t>> last_document_;
  Status outcome_;

  std::atomic<bool> ending_{false};
  // A commit inside the in-order sink would slow down decoding by a seventh (measured). Absent: all runs on
  // one thread.
  std::optional<CommitterThread<ClosedPartition>> committer_;
};

Status RunSegment(Arena& arena, Source& source, const SegmentSpec& spec, SegmentOutput& output,
                  SegmentProgress& progress, std::stop_token stop) {
  SegmentScratch scratch;
  return SegmentRun(source, spec, output, progress, scratch, std::move(stop)).Run(arena);
}

Status RunSmallSegment(Source& source, const SegmentSpec& spec, SegmentOutput& output,
                       SegmentProgress& progress, SegmentScratch& scratch, std::stop_token stop) {
  return SegmentRun(source, spec, output, progress, scratch, std::move(stop)).RunHere();
}

}  // namespace pipeline
