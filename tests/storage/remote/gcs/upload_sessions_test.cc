#include "storage/remote/gcs/upload_sessions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/str.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class UploadSessionsTest : public testing::Test {
 protected:
  std::optional<TakenSession> TakeOver() {
    std::vector<Secret> others;
    Result<std::optional<TakenSession>> taken = UploadSessions(path_).TakeOver(kKey, others);
    EXPECT_TRUE(taken.ok()) << taken.status().message();
    EXPECT_TRUE(others.empty());
    return taken.ok() ? *std::move(taken) : std::nullopt;
  }

  const UploadKey kKey{"aa", "bb"};
  TempDir dir_;
  const std::string path_ = dir_ / "sessions";
};

TEST_F(UploadSessionsTest, WhoGoesOnIsToldTheLastSums) {
  UploadSessions sessions(path_);
  const std::string other = sessions.Begin(Secret("http://host/other"), {"cc", "dd"}).value();
  const std::string id = sessions.Begin(Secret("http://host/session"), kKey).value();
  ASSERT_TRUE(sessions.Note(id, {{8, 1}, {16, 2}, {24, 3}}).ok());
  ASSERT_TRUE(sessions.Note(id, {{24, 3}, {32, 4'294'967'295}}).ok());
  EXPECT_FALSE(TakeOver()) << "of a living process";
  ASSERT_TRUE(sessions.Leave(id).ok());
  const std::optional<TakenSession> taken = TakeOver();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->uri.Reveal(), "http://host/session");
  EXPECT_EQ(taken->sums, (std::vector<SpoolSum>{{24, 3}, {32, 4'294'967'295}}));
  ASSERT_TRUE(sessions.End(other).ok() && sessions.End(taken->id).ok());
  EXPECT_EQ(ReadFile(path_), "");
}

TEST_F(UploadSessionsTest, SumsThatAreNoneAreLeftOut) {
  const std::int64_t now = SystemClock().UnixMillis() / 1000;
  const std::vector<std::pair<std::string, std::vector<SpoolSum>>> cases = {
      {"", {}},         {" ", {}},     {" 8:1", {{8, 1}}},    {" 8:1,", {{8, 1}}},
      {" 8", {}},       {" 8:", {}},   {" 8:1,16", {{8, 1}}}, {" 8:1,x:2,24:3", {{8, 1}}},
      {" 8:1 9:2", {}}, {" -8:1", {}}, {" 8:4294967296", {}}, {",8:1", {}},
  };
  for (const auto& [text, sums] : cases) {
    WriteFile(path_, StrCat(".session.tmp.00000000-0-1 http://host/session aa bb ", now, text, "\n"));
    const std::optional<TakenSession> taken = TakeOver();
    if (text == ",8:1") {
      EXPECT_FALSE(taken) << "its time is none";
      continue;
    }
    ASSERT_TRUE(taken) << text;
    EXPECT_EQ(taken->sums, sums) << text;
  }
}

}  // namespace
}  // namespace pipeline
