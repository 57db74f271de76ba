// Mutex, lock and condition variable with clang's annotations: with -Wthread-safety, code that uses a
// member without its mutex does not compile. Other compilers ignore the annotations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#if defined(__clang__)
#define PIPE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define PIPE_THREAD_SAFETY(attribute)
#endif

/// Marks a member that is used only while its mutex is held.
#define GUARDED_BY(mutex) PIPE_THREAD_SAFETY(guarded_by(mutex))
/// Marks a function or lambda that is called while the mutex is held (REQUIRES) or is not held (EXCLUDES).
#define REQUIRES(...) PIPE_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) PIPE_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// For code that the analysis cannot follow; a comment must say why it is right.
#define NO_THREAD_SAFETY_ANALYSIS PIPE_THREAD_SAFETY(no_thread_safety_analysis)

namespace pipeline {

class PIPE_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() PIPE_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() PIPE_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  bool try_lock() PIPE_THREAD_SAFETY(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a mutex until the end of a scope, except between unlock() and lock().
class PIPE_THREAD_SAFETY(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PIPE_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  /// For a mutex that try_lock() has locked.
  Lock(Mutex& mutex, std::adopt_lock_t /*held*/) REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() PIPE_THREAD_SAFETY(release_capability()) {
    if (held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() PIPE_THREAD_SAFETY(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() PIPE_THREAD_SAFETY(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Calls a predicate while the mutex of `lock` is held: write it as [&]() REQUIRES(mutex_) { … }.
class ConditionVariable {
 public:
  void NotifyOne() noexcept { changed_.notify_one(); }
  void NotifyAll() noexcept { changed_.notify_all(); }

  template <class Predicate>
  void Wait(Lock& lock, Predicate predicate) {
    changed_.wait(lock, std::move(predicate));
  }
  /// Returns the last value of the predicate. False: a stop was requested first.
  template <class Predicate>
  bool Wait(Lock& lock, const std::stop_token& stop, Predicate predicate) {
    return changed_.wait(lock, stop, std::move(predicate));
  }
  /// Returns the last value of the predicate. False: the time was over first.
  template <class Rep, class Period, class Predicate>
  bool WaitFor(Lock& lock, std::chrono::duration<Rep, Period> time, Predicate predicate) {
    return changed_.wait_for(lock, time, std::move(predicate));
  }
  template <class Rep, class Period, class Predicate>
  bool WaitFor(Lock& lock, const std::stop_token& stop, std::chrono::duration<Rep, Period> time,
               Predicate predicate) {
    return changed_.wait_for(lock, stop, time, std::move(predicate));
  }
  template <class Clock, class Duration, class Predicate>
  bool WaitUntil(Lock& lock, std::chrono::time_point<Clock, Duration> until, Predicate predicate) {
    return changed_.wait_until(lock, until, std::move(predicate));
  }

 private:
  std::condition_variable_any changed_;
};

}  // namespace pipeline
