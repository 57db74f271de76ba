#include "storage/remote/download/paced_file.h"

#include <algorithm>
#include <utility>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/compared_bytes.h"

namespace pipeline {

Result<ServerGate::Place> ServerGate::Enter(const std::string& server, int most, std::stop_token stop) {
  Lock lock(mutex_);
  const auto has_room = [&]() REQUIRES(mutex_) {
    const auto found = under_way_.find(server);
    return found == under_way_.end() || found->second < std::max(most, 1);
  };
  if (!left_.Wait(lock, stop, has_room))
    return Status(Code::kCancelled, StrCat(server, ": was stopped before its turn came"));
  ++under_way_[server];
  return Place(this, [this, server](const void*) { Leave(server); });
}

void ServerGate::Leave(const std::string& server) {
  {
    const Lock lock(mutex_);
    if (--under_way_[server] == 0) under_way_.erase(server);
  }
  left_.NotifyAll();
}

class PacedFile::Reader final : public RepeatingReader {
 public:
  Reader(const PacedFile& file, std::uint64_t begin, std::uint64_t end, std::stop_token stop)
      : file_(file), at_(std::min(begin, file.size())), end_(end), stop_(std::move(stop)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    if (ended_) return std::size_t{0};
    Result<std::size_t> got = ReadPiece(out);
    if (got.ok() && (*got > 0 || out.empty())) return got;
    ended_ = true;
    reader_.reset();  // before another reader gets the place
    place_.reset();
    return got;
  }

  Result<std::size_t> ReadPiece(std::span<char> out) {
    const Pace& pace = file_.pace_;
    if (!place_) {
      ASSIGN_OR_RETURN(place_, pace.gate->Enter(pace.server, pace.connections, stop_));
    }
    if (pace.rate) {
      RETURN_IF_ERROR(pace.rate->Wait(stop_));
      out = out.first(std::min(out.size(), pace.rate->piece()));
    }
    if (waited_ >= pace.over) RETURN_IF_ERROR(CheckRate());
    const std::chrono::nanoseconds began = pace.clock->Monotonic();
    if (!reader_) {
      const std::string_view last = last_.bytes();
      ASSIGN_OR_RETURN(reader_, file_.file_->OpenRange(at_ - last.size(), end_, stop_));
      RETURN_IF_ERROR(CompareBytes(*reader_, last, pace.name, at_));
    }
    ASSIGN_OR_RETURN(const std::size_t got, reader_->Read(out));
    waited_ += pace.clock->Monotonic() - began;
    at_ += got;
    came_ += got;
    if (pace.compares) last_.Add(std::string_view(out.data(), got));
    if (pace.rate) pace.rate->Take(got);
    return got;
  }

  /// Checks the rate over the period that has ended.
  Status CheckRate() {
    const double seconds = std::chrono::duration<double>(waited_).count();
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(std::exchange(came_, 0)) / seconds);
    waited_ = std::chrono::nanoseconds(0);
    if (rate >= file_.pace_.least) return {};
    std::string line = StrCat(file_.pace_.name, ": only ", rate, " bytes a second came over ",
                              static_cast<std::uint64_t>(seconds), " s, at byte ", at_, " of ", file_.size());
    if (!has_reconnected_ && file_.pace_.may_reconnect) {
      has_reconnected_ = true;
      reader_.reset();
      file_.Say(StrCat(line, "; it is asked anew"));
    } else if (file_.pace_.is_last) {
      file_.Say(StrCat(line, "; it goes on, as there is no other address"));
    } else {
      return Status(Code::kUnavailable, std::move(line)).With(std::make_shared<SlowServer>());
    }
    return {};
  }

  const PacedFile& file_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const std::stop_token stop_;
  ServerGate::Place place_;             // null: before the first read and after the last
  std::unique_ptr<ByteReader> reader_;  // null: there is no place, or between two transfers
  std::chrono::nanoseconds waited_{0};  // for the bytes of this period
  LastBytes last_;                      // before `at_`, of this reader
  std::uint64_t came_ = 0;              // bytes of this period
  bool has_reconnected_ = false;
  bool ended_ = false;
};

Result<std::unique_ptr<ByteReader>> PacedFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                         std::stop_token stop) const {
  return std::make_unique<Reader>(*this, begin, end, std::move(stop));
}

void PacedFile::Say(const std::string& line) const {
  {
    const std::chrono::nanoseconds now = pace_.clock->Monotonic();
    const Lock lock(mutex_);
    if (has_said_ && now - said_at_ < pace_.over) return;
    has_said_ = true;
    said_at_ = now;
  }
  if (pace_.note) pace_.note(line);
}

}  // namespace pipeline
