#include "cli/terminal/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "base/log.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;

/// Returns the exit code of a process that runs `work`, which sends itself signals.
int ExitOf(const std::function<void(SignalWatch&)>& work) {
  const pid_t child = fork();
  if (child == 0) {
    SetLogSink({});
    SignalWatch signals(milliseconds(100));
    work(signals);
    _exit(77);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Block(milliseconds time) { std::this_thread::sleep_for(time); }

void Signal(const SignalWatch& signals, int number) {
  kill(getpid(), number);
  while (signals.exit_code() == 0) Block(milliseconds(1));
}

TEST(SignalWatchTest, AProgramThatOnlyWaitsEndsSoonAfterTheFirstSignal) {
  for (const auto& [number, code] : {std::pair(SIGINT, kExitInterrupt), std::pair(SIGTERM, kExitTerminate),
                                     std::pair(SIGUSR1, kExitTerminate), std::pair(SIGUSR2, kExitTerminate),
                                     std::pair(SIGQUIT, kExitTerminate)})
    EXPECT_EQ(ExitOf([number = number](SignalWatch& signals) {
                Signal(signals, number);
                Block(milliseconds(20'000));  // a name lookup, which nothing ends
              }),
              code);
}

TEST(SignalWatchTest, WorkIsFinishedHoweverLongThatTakes) {
  EXPECT_EQ(ExitOf([](SignalWatch& signals) {
              std::optional<SignalWatch::Finishing> finishing(std::in_place, signals);
              Signal(signals, SIGTERM);
              Block(milliseconds(300));
              finishing.reset();
              Block(milliseconds(300));  // leases are given back
            }),
            77);
}

TEST(SignalWatchTest, WorkThatBeginsAfterTheSignalIsNotWorthFinishing) {
  EXPECT_EQ(ExitOf([](SignalWatch& signals) {
              Signal(signals, SIGTERM);
              const SignalWatch::Finishing finishing(signals);
              Block(milliseconds(20'000));
            }),
            kExitTerminate);
}

TEST(SignalWatchTest, ASecondSignalEndsTheWorkAtOnce) {
  EXPECT_EQ(ExitOf([](SignalWatch& signals) {
              const SignalWatch::Finishing finishing(signals);
              Signal(signals, SIGINT);
              kill(getpid(), SIGTERM);
              Block(milliseconds(20'000));
            }),
            kExitTerminate);
}

TEST(SignalWatchTest, TwoSignalsOfOneKindWithinHalfASecondAreOneAndALaterOneIsNot) {
  for (const auto& [number, code] : {std::pair(SIGINT, kExitInterrupt), std::pair(SIGHUP, kExitHangup)}) {
    const auto ends = [number = number](milliseconds pause) {
      return ExitOf([=](SignalWatch& signals) {
        const SignalWatch::Finishing finishing(signals);
        Signal(signals, number);
        kill(getpid(), number);  // as `timeout` signals the process and its group
        Block(pause);
        if (pause > milliseconds(500)) kill(getpid(), number);
        Block(milliseconds(200));
      });
    };
    EXPECT_EQ(ends(milliseconds(100)), 77);
    EXPECT_EQ(ends(milliseconds(700)), code);
  }
}

}  // namespace
}  // namespace pipeline
