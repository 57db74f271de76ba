#include "storage/remote/http/paced_file.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/compared_bytes.h"

namespace pipeline {

class PacedFile::Reader final : public ByteReader {
 public:
  Reader(const PacedFile& file, std::uint64_t begin, std::uint64_t end, std::stop_token stop)
      : file_(file), at_(std::min(begin, file.size())), end_(end), stop_(std::move(stop)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    if (!failed_.ok()) return failed_;
    if (waited_ >= file_.pace_.least.over) CheckRate();
    if (!failed_.ok()) return failed_;
    const std::chrono::nanoseconds began = file_.pace_.clock->Monotonic();
    Result<std::size_t> got = ReadSome(out);
    waited_ += file_.pace_.clock->Monotonic() - began;
    if (got.ok()) {
      at_ += *got;
      came_ += *got;
      if (file_.pace_.compares) last_.Add(std::string_view(out.data(), *got));
    } else {
      failed_ = got.status();
    }
    return got;
  }

 private:
  Result<std::size_t> ReadSome(std::span<char> out) {
    if (!reader_) {
      const std::string_view last = last_.bytes();
      ASSIGN_OR_RETURN(reader_, file_.file_->OpenRange(at_ - last.size(), end_, stop_));
      RETURN_IF_ERROR(CompareBytes(*reader_, last, file_.pace_.name, at_));
    }
    return reader_->Read(out);
  }

  /// Checks the rate over the period that has ended.
  void CheckRate() {
    const double seconds = std::chrono::duration<double>(waited_).count();
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(std::exchange(came_, 0)) / seconds);
    waited_ = std::chrono::nanoseconds(0);
    if (rate >= file_.pace_.least.bytes_per_second) return;
    const std::string line =
        StrCat(file_.pace_.name, ": only ", rate, " bytes a second came over ",
               static_cast<std::uint64_t>(seconds), " s, at byte ", at_, " of ", file_.size());
    if (!has_reconnected_ && file_.pace_.may_reconnect) {
      has_reconnected_ = true;
      reader_.reset();
      file_.Say(StrCat(line, "; it is asked anew"));
    } else if (file_.pace_.is_last) {
      file_.Say(StrCat(line, "; it goes on, as there is no other address"));
    } else {
      reader_.reset();
      failed_ = Status(Code::kUnavailable, line).With(std::make_shared<SlowServer>());
    }
  }

  const PacedFile& file_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // null: before the first read and between two transfers
  std::chrono::nanoseconds waited_{0};  // for the bytes of this period
  LastBytes last_;                      // before `at_`, of this reader
  std::uint64_t came_ = 0;              // bytes of this period
  bool has_reconnected_ = false;
  Status failed_;  // every further read returns it
};

Result<std::unique_ptr<ByteReader>> PacedFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                         std::stop_token stop) const {
  return std::unique_ptr<ByteReader>(std::make_unique<Reader>(*this, begin, end, std::move(stop)));
}

void PacedFile::Say(const std::string& line) const {
  {
    const std::chrono::nanoseconds now = pace_.clock->Monotonic();
    const Lock lock(mutex_);
    if (has_said_ && now - said_at_ < pace_.least.over) return;
    has_said_ = true;
    said_at_ = now;
  }
  if (pace_.note) pace_.note(line);
}

}  // namespace pipeline
