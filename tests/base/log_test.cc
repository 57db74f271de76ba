#include "base/log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pipeline {
namespace {

/// Collects messages, and gives the sink from before back at the end of its scope.
class Captured {
 public:
  Captured() {
    before_ = SetLogSink([this](Level level, std::string_view message) {
      levels.push_back(level);
      messages.emplace_back(message);
    });
  }
  ~Captured() { SetLogSink(before_); }

  std::vector<Level> levels;
  std::vector<std::string> messages;

 private:
  LogSink before_;
};

TEST(LogTest, MessagesGoToTheSinkWithTheirLevel) {
  Captured log;
  LogInfo("a");
  LogWarning("b");
  LogError("c");
  EXPECT_EQ(log.messages, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(log.levels, (std::vector<Level>{Level::kInfo, Level::kWarning, Level::kError}));
}

TEST(LogTest, AMessageIsOneLine) {
  Captured log;
  LogInfo("a\nb\r\nc\n");
  EXPECT_EQ(log.messages.at(0).find_first_of("\r\n"), std::string::npos);
}

TEST(LogTest, TheSinkTakesOneMessageAtATime) {
  Captured log;  // its vectors have no lock
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 100; ++n) LogInfo("x");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.messages.size(), 400u);
}

TEST(LogTest, WithoutASinkMessagesAreDropped) {
  Captured log;
  const LogSink ours = SetLogSink({});
  LogInfo("dropped");
  SetLogSink(ours);
  LogInfo("kept");
  EXPECT_EQ(log.messages, std::vector<std::string>{"kept"});
}

}  // namespace
}  // namespace pipeline
