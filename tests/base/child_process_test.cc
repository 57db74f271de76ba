#include "base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace pipeline {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<ChildProcess> Shell(std::string script, ChildOptions options = {}) {
  options.argv = {"sh", "-c", std::move(script)};
  Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(options);
  EXPECT_TRUE(child.ok()) << child.status().message();
  return std::move(child).value();
}

std::string ReadAll(ChildProcess& child) {
  std::string all;
  std::array<char, 1000> buffer = {};
  while (true) {
    const Result<std::size_t> got = child.Read(buffer, {});
    EXPECT_TRUE(got.ok()) << got.status().message();
    if (!got.ok() || *got == 0) return all;
    all.append(buffer.data(), *got);
  }
}

ChildExit Finish(ChildProcess& child) {
  const Result<ChildExit> exit = child.Wait({}, 1s);
  EXPECT_TRUE(exit.ok()) << exit.status().message();
  return exit.ok() ? *exit : ChildExit{.code = -1};
}

TEST(ChildProcessTest, GetsItsInputAndGivesItsOutput) {
  const auto child = Shell("tr a-z A-Z");
  const std::string text(1 << 20, 'x');  // many times what a pipe holds, in both directions
  std::thread writer([&] {
    EXPECT_TRUE(child->Write(text, {}).ok());
    child->CloseInput();
  });
  EXPECT_EQ(ReadAll(*child), std::string(1 << 20, 'X'));
  writer.join();
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(ChildProcessTest, ArgumentsGoThroughNoShell) {
  Result<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start({.argv = {"printf", "%s|%s", "a b; exit 3", "$HOME"}});
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadAll(**child), "a b; exit 3|$HOME");
  EXPECT_TRUE(Finish(**child).ok());
}

TEST(ChildProcessTest, ProgramThatIsNotThereIsNamed) {
  const auto missing = ChildProcess::Start({.argv = {"/no/such/program"}});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("/no/such/program"), std::string::npos);
  const auto no_place = ChildProcess::Start({.argv = {"true"}, .directory = "/no/such/place"});
  EXPECT_NE(no_place.status().message().find("/no/such/place"), std::string::npos);
  EXPECT_EQ(ChildProcess::Start({}).status().code(), Code::kInvalidArgument);
}

TEST(ChildProcessTest, SaysHowItEnded) {
  EXPECT_EQ(Finish(*Shell("exit 3")).Describe(), "ended with exit code 3");
  const ChildExit killed = Finish(*Shell("kill -9 $$"));
  EXPECT_EQ(killed.signal, 9);
  EXPECT_EQ(killed.Describe(), "was ended by signal 9 (Killed)");
}

TEST(ChildProcessTest, EnvironmentAndDirectoryAreThoseGiven) {
  const auto child = Shell("echo \"$A-$HOME\"; pwd", {.environment = {{"A=1"}}, .directory = "/"});
  EXPECT_EQ(ReadAll(*child), "1-\n/\n");
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(ChildProcessTest, KeepsTheEndOfItsComplaints) {
  const auto child = Shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1",
                           {.stderr_bytes = 40});
  EXPECT_EQ(Finish(*child).code, 1);
  EXPECT_EQ(child->StderrTail(), "line 2997\nline 2998\nline 2999");
}

TEST(ChildProcessTest, WritingToOneThatReadsNoMoreIsAnError) {
  const auto child = Shell("exec <&-; echo closed; cat /dev/zero | head -c 1 >/dev/null; exit 4");
  EXPECT_EQ(ReadAll(*child), "closed\n");
  EXPECT_EQ(child->Write("x", {}).code(), Code::kUnavailable);
  EXPECT_EQ(Finish(*child).code, 4);
}

TEST(ChildProcessTest, StopEndsReadingAndWriting) {
  const auto child = Shell("exec sleep 1000");
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  std::array<char, 10> buffer = {};
  EXPECT_EQ(child->Read(buffer, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(child->Write(std::string(1 << 20, 'x'), stop.get_token()).code(), Code::kCancelled);
  stopper.join();
  EXPECT_EQ(child->Wait(stop.get_token(), 10s).status().code(), Code::kCancelled);
}

TEST(ChildProcessTest, StopGivesTimeToEndAndThenKills) {
  std::stop_source stop;
  stop.request_stop();
  const auto listens = Shell("trap 'echo bye >&2; exit 0' TERM; echo ready; while :; do :; done");
  std::array<char, 10> buffer = {};
  ASSERT_TRUE(listens->Read(buffer, {}).ok());
  EXPECT_EQ(listens->Wait(stop.get_token(), 30s).status().code(), Code::kCancelled);
  EXPECT_EQ(listens->StderrTail(), "bye");

  const auto deaf = Shell("trap '' TERM; echo ready; while :; do :; done");
  ASSERT_TRUE(deaf->Read(buffer, {}).ok());
  EXPECT_EQ(deaf->Wait(stop.get_token(), 10ms).status().code(), Code::kCancelled);
}

TEST(ChildProcessTest, WhatItStartedEndsWithIt) {
  const auto child = Shell("sleep 1000 & exit 0");
  EXPECT_TRUE(Finish(*child).ok());
  EXPECT_EQ(ReadAll(*child), "");  // ends when nobody holds its stdout any more
}

TEST(ChildProcessTest, ReadingEndsAlthoughWhatItStartedLivesOn) {
  const auto child = Shell("echo a; sleep 1000 & sleep 1000 &");
  EXPECT_EQ(ReadAll(*child), "a\n");
  EXPECT_TRUE(Finish(*child).ok());
  // Out of reach, as soon as it has a session of its own, and it holds stdout.
  const auto left = Shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.5");
  const std::string id = ReadAll(*left);
  EXPECT_TRUE(Finish(*left).ok());
  EXPECT_EQ(kill(static_cast<pid_t>(std::stol(id)), SIGKILL), 0) << id;
}

TEST(ChildProcessTest, WhatItStartedIsReadAsLongAsItSpeaks) {
  const auto child = Shell("for i in 1 2 3 4; do sleep 0.4; echo $i; done &");
  EXPECT_EQ(ReadAll(*child), "1\n2\n3\n4\n");
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(ChildProcessTest, IgnoresTheEndOfTheTerminalWhereWeDo) {
  const auto before = signal(SIGHUP, SIG_IGN);
  const auto child = Shell("kill -HUP $$; echo still here");
  signal(SIGHUP, before);
  EXPECT_EQ(ReadAll(*child), "still here\n");
  EXPECT_TRUE(Finish(*child).ok());
  const auto other = Shell("kill -HUP $$; echo still here");
  EXPECT_EQ(ReadAll(*other), "");
  EXPECT_EQ(Finish(*other).signal, SIGHUP);
}

TEST(ChildProcessTest, DestroyingItKillsIt) {
  pid_t id = 0;
  {
    const auto child = Shell("echo $$; exec sleep 1000");
    std::array<char, 20> buffer = {};
    const Result<std::size_t> got = child->Read(buffer, {});
    ASSERT_TRUE(got.ok());
    id = static_cast<pid_t>(std::stol(std::string(buffer.data(), *got)));
  }
  EXPECT_EQ(kill(id, 0), -1);
}

TEST(ChildProcessTest, ThreadThatStartedItTakesItAlong) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = Shell("exec sleep 1000"); }).join();
  EXPECT_EQ(Finish(*child).signal, SIGKILL);
}

TEST(ChildProcessTest, InheritsNoDescriptorAndNoBlockedSignal) {
  const int open_one = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(open_one, 3);
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const auto child = Shell("ls /proc/self/fd | wc -l; kill -TERM $$; echo still here");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(ReadAll(*child), "4\n");  // 0, 1, 2, and the directory that ls reads
  EXPECT_EQ(Finish(*child).signal, SIGTERM);
  close(open_one);
}

}  // namespace
}  // namespace pipeline
