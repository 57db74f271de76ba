#include "tests/support/fake_moments.h"

namespace pipeline {

void FakeMoments::Pass() {
  std::unique_lock lock(mutex_);
  ++passed_;
  if (hold_at_ == 0 || passed_ < hold_at_) return;
  changed_.notify_all();
  changed_.wait(lock, [this, before = releases_] { return releases_ != before; });
}

bool FakeMoments::HoldAfter(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = releases_;
  const std::uint64_t at = hold_at_ = passed_ + count;
  changed_.wait(lock, [&] { return releases_ != before || passed_ >= at; });
  return releases_ == before;
}

void FakeMoments::Release() {
  const std::scoped_lock lock(mutex_);
  hold_at_ = 0;
  ++releases_;
  changed_.notify_all();
}

bool FakeMoments::is_holding() const {
  const std::scoped_lock lock(mutex_);
  return hold_at_ != 0;
}

std::uint64_t FakeMoments::passed() const {
  const std::scoped_lock lock(mutex_);
  return passed_;
}

}  // namespace pipeline
