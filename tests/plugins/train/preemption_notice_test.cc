#include "plugins/train/preemption_notice.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "base/mutex.h"

namespace pipeline {
namespace {

using Answer = Result<std::optional<std::string>>;

/// A metadata server whose values the test changes.
class Server {
 public:
  void Set(const std::string& path, const std::string& value) {
    const Lock lock(mutex_);
    values_[path] = value;
  }
  PreemptionNotice::Ask ask() {
    return [this](std::string_view path) -> Answer {
      const Lock lock(mutex_);
      ++asked_;
      if (fails_) return Status(Code::kUnavailable, "slow");
      const auto found = values_.find(std::string(path));
      return found == values_.end() ? std::optional<std::string>() : std::optional(found->second);
    };
  }
  int asked() {
    const Lock lock(mutex_);
    return asked_;
  }
  void Fail(bool fails) {
    const Lock lock(mutex_);
    fails_ = fails;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::string> values_ GUARDED_BY(mutex_);
  int asked_ GUARDED_BY(mutex_) = 0;
  bool fails_ GUARDED_BY(mutex_) = false;
};

template <class Condition>
bool Soon(const Condition& condition) {
  for (int look = 0; look < 2000 && !condition(); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(PreemptionNoticeTest, NoticesThatTheMachineIsTaken) {
  Server server;
  server.Set("instance/preempted", "FALSE");
  server.Set("instance/maintenance-event", "NONE");
  const PreemptionNotice notice(server.ask(), std::chrono::milliseconds(1));
  EXPECT_TRUE(Soon([&] { return server.asked() > 6; }));
  EXPECT_FALSE(notice.noticed());
  server.Set("instance/preempted", "TRUE");
  EXPECT_TRUE(Soon([&] { return notice.noticed(); }));
  EXPECT_NE(notice.why().find("instance/preempted"), std::string::npos);
}

TEST(PreemptionNoticeTest, NoticesAnEndForMaintenanceAndNoMigration) {
  Server server;
  server.Set("instance/preempted", "FALSE");
  server.Set("instance/maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE");
  const PreemptionNotice notice(server.ask(), std::chrono::milliseconds(1));
  EXPECT_TRUE(Soon([&] { return server.asked() > 6; }));
  EXPECT_FALSE(notice.noticed());
  server.Set("instance/maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_TRUE(Soon([&] { return notice.noticed(); }));
}

TEST(PreemptionNoticeTest, AMachineWithoutAServerIsAskedOnce) {
  Server server;
  const PreemptionNotice notice(server.ask(), std::chrono::milliseconds(1));
  EXPECT_TRUE(Soon([&] { return server.asked() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(server.asked(), 1);
  EXPECT_FALSE(notice.noticed());
}

TEST(PreemptionNoticeTest, AServerThatFailsIsAskedAgain) {
  Server server;
  server.Set("instance/preempted", "TRUE");
  server.Fail(true);
  const PreemptionNotice notice(server.ask(), std::chrono::milliseconds(1));
  EXPECT_TRUE(Soon([&] { return server.asked() > 3; }));
  EXPECT_FALSE(notice.noticed());
  server.Fail(false);
  EXPECT_TRUE(Soon([&] { return notice.noticed(); }));
}

TEST(PreemptionNoticeTest, EndsAtOnce) {
  Server server;
  server.Set("instance/preempted", "FALSE");
  const auto begin = std::chrono::steady_clock::now();
  { const PreemptionNotice notice(server.ask(), std::chrono::hours(1)); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pipeline
