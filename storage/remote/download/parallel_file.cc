#include "storage/remote/download/parallel_file.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "base/wait.h"
#include "storage/remote/http/compared_bytes.h"

namespace pipeline {

namespace {

class ParallelReader final : public RepeatingReader {
 public:
  ParallelReader(const RangedFile& file, int connections, std::uint64_t part, const std::string& compared,
                 std::uint64_t offset, std::stop_token stop)
      : file_(file),
        compared_(compared),
        connections_(connections),
        part_bytes_(part),
        at_(std::min(offset, file.size())),
        next_(at_),
        outer_(std::move(stop)) {}
  ~ParallelReader() override { EndThreads(); }

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    if (threads_.empty() && !single_) RETURN_IF_ERROR(Begin());
    while (!single_ && at_ < file_.size() && !out.empty()) {
      if (taken_ < current_.size()) return Take(out);
      RETURN_IF_ERROR(NextPart());
    }
    return single_ ? single_->Read(out) : std::size_t{0};
  }

  struct Part {
    std::string bytes;
    Status failure;
  };

  Status Begin() {
    if (file_.size() - at_ <= part_bytes_ || connections_ < 2) return GoOnAlone();
    for (int i = 0; i < connections_; ++i) threads_.emplace_back([this] { Fetch(); });
    return {};
  }

  Status GoOnAlone() {
    EndThreads();
    const std::size_t again = compared_.empty() ? 0 : std::min(taken_, kComparedBytes);
    ASSIGN_OR_RETURN(single_, file_.Open(at_ - again, outer_));
    return CompareBytes(*single_, std::string_view(current_).substr(taken_ - again, again), compared_, at_);
  }

  std::size_t Take(std::span<char> out) {
    const std::size_t count = std::min(out.size(), current_.size() - taken_);
    std::memcpy(out.data(), current_.data() + taken_, count);
    taken_ += count;
    at_ += count;
    return count;
  }

  /// Waits for the part that begins at `at_`.
  Status NextPart() {
    Lock lock(mutex_);
    changed_.Wait(lock, [this]() REQUIRES(mutex_) { return parts_.contains(at_); });
    Part part = std::move(parts_.extract(at_).mapped());
    wanted_ = at_ + part.bytes.size();
    lock.unlock();
    changed_.NotifyAll();
    if (part.failure.code() == Code::kCancelled || part.failure.Detail<OtherBytes>() != nullptr)
      return std::move(part.failure);
    if (!part.failure.ok()) return GoOnAlone();
    current_ = std::move(part.bytes);
    taken_ = 0;
    return {};
  }

  /// Runs in each thread: downloads the next part that no thread has begun, while there is room for it.
  void Fetch() {
    const std::uint64_t ahead = part_bytes_ * static_cast<std::uint64_t>(connections_ + 2);
    for (;;) {
      std::uint64_t begin = 0;
      {
        Lock lock(mutex_);
        changed_.Wait(lock, [&]() REQUIRES(mutex_) {
          return is_ending_ || next_ == file_.size() || (next_ < wanted_ + ahead && next_ < file_.size());
        });
        if (is_ending_ || next_ == file_.size()) return;
        begin = next_;
        next_ = std::min(begin + part_bytes_, file_.size());
      }
      Part part = FetchPart(begin, std::min(begin + part_bytes_, file_.size()));
      const bool failed = !part.failure.ok();
      {
        const Lock lock(mutex_);
        parts_.emplace(begin, std::move(part));
        if (failed) is_ending_ = true;  // nobody uses the parts after it
      }
      changed_.NotifyAll();
      if (failed) return;
    }
  }

  Part FetchPart(std::uint64_t begin, std::uint64_t end) const {
    Part part;
    part.bytes.resize(static_cast<std::size_t>(end - begin));
    Result<std::unique_ptr<ByteReader>> reader = file_.OpenRange(begin, end, stop_.token());
    part.failure = reader.ok() ? ReadExactly(**reader, part.bytes) : reader.status();
    if (!part.failure.ok()) part.bytes.clear();
    return part;
  }

  void EndThreads() {
    stop_.Stop();
    {
      const Lock lock(mutex_);
      is_ending_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    const Lock lock(mutex_);
    parts_.clear();
  }

  const RangedFile& file_;
  const std::string& compared_;
  const int connections_;
  const std::uint64_t part_bytes_;
  std::uint64_t at_;     // of the next byte that the caller gets
  std::string current_;  // the bytes of the part that contains `at_`
  std::size_t taken_ = 0;
  std::unique_ptr<ByteReader> single_;  // null: the threads read

  Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::uint64_t, Part> parts_ GUARDED_BY(mutex_);  // downloaded parts by offset
  std::uint64_t next_ GUARDED_BY(mutex_);          // offset of the first part that no thread has begun
  std::uint64_t wanted_ GUARDED_BY(mutex_) = at_;  // the caller has taken all bytes before it
  bool is_ending_ GUARDED_BY(mutex_) = false;

  const std::stop_token outer_;
  EitherStop stop_{outer_, {}};  // requested by the caller's stop and by the end of this reader
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> ParallelFile::Open(std::uint64_t offset, std::stop_token stop) const {
  return std::make_unique<ParallelReader>(*file_, connections_, part_, compared_, offset, std::move(stop));
}

}  // namespace pipeline
