#include <gtest/gtest.h>

#include "storage/remote/http/http_client.h"

namespace pipeline {
namespace {

using std::chrono::seconds;

TEST(AskedPauseTest, IsTheServersDateMinusItsOwnClock) {
  HttpResponse response;
  response.headers = {{"date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                      {"retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"}};
  for (const std::int64_t now : {784'111'777'000, 784'111'777'000 - 420'000, 784'111'777'000 + 420'000})
    EXPECT_EQ(AskedPause(response, now), seconds(60)) << now;
  response.headers.erase(response.headers.begin());
  EXPECT_EQ(AskedPause(response, 784'111'777'000), seconds(60)) << "the server does not say what time it has";
  response.headers = {{"date", "soon"}, {"retry-after", "7"}};
  EXPECT_EQ(AskedPause(response, 0), seconds(7));
  response.headers.clear();
  EXPECT_FALSE(AskedPause(response, 0));
}

}  // namespace
}  // namespace pipeline
