#include "stages/tokenizer/word_spill.h"

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <span>
#include <utility>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/store.h"
#include "text/unigram/stoppable_sort.h"

namespace pipeline {

namespace {

constexpr std::size_t kRunBufferBytes = 64 << 10;  // of each run that is read or written
constexpr std::size_t kMostRuns = 128;
constexpr std::size_t kBetweenStops = 1 << 14;  // words
/// In place of the size of a word: the CRC of everything before follows.
constexpr std::uint32_t kRunEnd = std::numeric_limits<std::uint32_t>::max();

/// A run has each word as its size, its count and its bytes, in the order of this machine.
class RunWriter {
 public:
  static Result<RunWriter> Create(Store& store, const std::string& name) {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> object, store.Create(name, Condition::CreateOnly()));
    return RunWriter(std::move(object));
  }

  Status Add(std::string_view word, std::uint64_t count) {
    AppendNumber(static_cast<std::uint32_t>(word.size()));
    AppendNumber(count);
    buffer_.append(word);
    return buffer_.size() < kRunBufferBytes ? Status() : Flush();
  }
  Status Commit(const std::stop_token& stop) {
    AppendNumber(kRunEnd);
    RETURN_IF_ERROR(Flush());
    AppendNumber(crc_);
    RETURN_IF_ERROR(object_->Append(buffer_));
    return object_->Commit(stop).status();
  }

 private:
  explicit RunWriter(std::unique_ptr<ObjectWriter> object) : object_(std::move(object)) {}

  template <class Number>
  void AppendNumber(Number number) {
    buffer_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  Status Flush() {
    crc_ = Crc32c(buffer_, crc_);
    RETURN_IF_ERROR(object_->Append(buffer_));
    buffer_.clear();
    return {};
  }

  std::unique_ptr<ObjectWriter> object_;
  std::string buffer_;
  std::uint32_t crc_ = 0;
};

class RunReader {
 public:
  static Result<std::unique_ptr<RunReader>> Open(Store& store, const std::string& name,
                                                 const std::stop_token& stop) {
    auto run = std::make_unique<RunReader>();
    run->name_ = name;
    ASSIGN_OR_RETURN(run->file_, store.Open(name));
    ASSIGN_OR_RETURN(run->bytes_, run->file_->Open(0, stop));
    return run;
  }

  /// False: the run has ended, and its checksum is right.
  Result<bool> Next() {
    std::uint32_t size = 0;
    RETURN_IF_ERROR(ReadNumber(size));
    if (size == kRunEnd) {
      const std::uint32_t expected = crc_;
      std::uint32_t written = 0;
      RETURN_IF_ERROR(ReadNumber(written));
      if (written != expected) return Damaged();
      return false;
    }
    RETURN_IF_ERROR(ReadNumber(count_));
    ASSIGN_OR_RETURN(word_, Take(size));
    return true;
  }

  /// Valid until the next call of Next.
  std::string_view word() const { return word_; }
  std::uint64_t count() const { return count_; }

 private:
  Status Damaged() const {
    return Status(Code::kDataLoss,
                  StrCat(name_, ": a file of counted words has changed since it was written; run it again"));
  }

  template <class Number>
  Status ReadNumber(Number& number) {
    ASSIGN_OR_RETURN(const std::string_view bytes, Take(sizeof number));
    std::memcpy(&number, bytes.data(), sizeof number);
    return {};
  }

  Result<std::string_view> Take(std::size_t size) {
    if (end_ - begin_ < size) {
      if (size > kRunBufferBytes) return Damaged();  // no word is as long
      buffer_.resize(2 * kRunBufferBytes);
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_, begin_ = 0;
      while (end_ < size) {
        ASSIGN_OR_RETURN(const std::size_t read, bytes_->Read(std::span(buffer_).subspan(end_)));
        if (read == 0) return Damaged();
        end_ += read;
      }
    }
    const std::string_view taken(buffer_.data() + begin_, size);
    begin_ += size;
    crc_ = Crc32c(taken, crc_);
    return taken;
  }

  std::string name_;
  std::unique_ptr<ByteFile> file_;
  std::unique_ptr<ByteReader> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // the bytes of `buffer_` that were not taken yet
  std::uint32_t crc_ = 0;            // of the bytes that were
  std::string_view word_;
  std::uint64_t count_ = 0;
};

/// The run with the least word comes first.
struct IsLater {
  bool operator()(const RunReader* a, const RunReader* b) const { return a->word() > b->word(); }
};

}  // namespace

Status WordSpill::Write(const CountedWords& words, const std::stop_token& stop) {
  std::vector<std::pair<std::string_view, std::uint64_t>> sorted = words.All(), buffer;
  if (!SortUnlessStopped(sorted, buffer, std::less<>(), stop)) return Status(Code::kCancelled, "stopped");
  const Lock lock(mutex_);
  std::string name = NewName();
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(store_, name));
  for (const auto& [word, count] : sorted) RETURN_IF_ERROR(writer.Add(word, count));
  RETURN_IF_ERROR(writer.Commit(stop));
  runs_.push_back(std::move(name));
  return runs_.size() < kMostRuns ? Status() : MakeOneOfAll(stop);
}

bool WordSpill::empty() const {
  const Lock lock(mutex_);
  return runs_.empty();
}

Status WordSpill::Merge(const TakeWord& take, const std::stop_token& stop) {
  const Lock lock(mutex_);
  return MergeRuns(take, stop);
}

Status WordSpill::MergeRuns(const TakeWord& take, const std::stop_token& stop) {
  std::vector<std::unique_ptr<RunReader>> readers;
  std::priority_queue<RunReader*, std::vector<RunReader*>, IsLater> queue;
  for (const std::string& run : runs_) {
    ASSIGN_OR_RETURN(std::unique_ptr<RunReader> reader, RunReader::Open(store_, run, stop));
    ASSIGN_OR_RETURN(const bool has_word, reader->Next());
    if (has_word) queue.push(reader.get());
    readers.push_back(std::move(reader));
  }
  std::string word;
  for (std::size_t words = 0; !queue.empty(); ++words) {
    if (words % kBetweenStops == 0 && stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    word.assign(queue.top()->word());
    std::uint64_t count = 0;
    while (!queue.empty() && queue.top()->word() == word) {
      RunReader* const reader = queue.top();
      queue.pop();
      count = SaturatedSum(count, reader->count());
      ASSIGN_OR_RETURN(const bool more, reader->Next());
      if (more) queue.push(reader);
    }
    RETURN_IF_ERROR(take(word, count));
  }
  return {};
}

Status WordSpill::MakeOneOfAll(const std::stop_token& stop) {
  std::string name = NewName();
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(store_, name));
  RETURN_IF_ERROR(MergeRuns(
      [&writer](std::string_view word, std::uint64_t count) { return writer.Add(word, count); }, stop));
  RETURN_IF_ERROR(writer.Commit(stop));
  for (const std::string& run : std::exchange(runs_, {std::move(name)})) RETURN_IF_ERROR(store_.Remove(run));
  return {};
}

std::string WordSpill::NewName() { return StrCat("words-", made_++); }

}  // namespace pipeline
