#include "storage/remote/http/attended_request.h"

#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/wait.h"

namespace pipeline {

namespace {

/// Name servers that answered so soon are asked once more, for their reason; silent ones are not.
constexpr std::chrono::seconds kSoon{2};

/// Returns the host of "https://host:443".
std::string HostOf(std::string_view server) {
  server.remove_prefix(server.find("://") + 3);
  return std::string(server.substr(0, server.rfind(':')));
}

/// Returns whether name servers say that there is no such name. Their other failures may pass.
bool IsUnknownName(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int answer = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (answer == 0) freeaddrinfo(found);
  return answer == EAI_NONAME;
}

/// Looks at the clock while there is no answer. `either` stops the request.
class Watch {
 public:
  Watch(AttendedWait& wait, EitherStop& either, const std::string& server, const std::string& shown)
      : wait_(wait),
        either_(either),
        server_(server),
        shown_(shown),
        begun_(SystemClock().Monotonic()),
        thread_([this](const std::stop_token& done) { Loop(done); }) {}

  Status Explain(Status begun) {
    thread_.request_stop();
    thread_.join();
    if (begun.ok()) wait_.Answers(server_);
    const auto spent = SystemClock().Monotonic() - begun_;
    if (begun.code() == Code::kCancelled && is_over_)
      begun = Status(Code::kUnavailable, StrCat(shown_, ": gives no answer"));
    if (begun.code() == Code::kUnavailable && !wait_.Silent(server_, shown_, begun_))
      return std::move(begun).With(std::make_shared<SameAnswer>(1));
    if (begun.Detail<NoAddress>() == nullptr || spent >= kSoon || !IsUnknownName(HostOf(server_)))
      return begun;
    std::string words = StrCat(begun.message(), ": name servers do not know this name; check the address");
    return std::move(begun).Reword(std::move(words)).With(std::make_shared<SameAnswer>(1));
  }

 private:
  void Loop(const std::stop_token& done) {
    for (;;) {
      const auto next = wait_.Silent(server_, shown_, begun_);
      if (!next) {
        is_over_ = true;
        either_.Stop();
        return;
      }
      if (!WaitFor(*next, done)) return;
    }
  }

  AttendedWait& wait_;
  EitherStop& either_;
  const std::string &server_, &shown_;
  const std::chrono::nanoseconds begun_;
  std::atomic<bool> is_over_{false};
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace

AttendedRequest::AttendedRequest(std::stop_token stop) : wait_(PresentWait()), stop_(std::move(stop)) {
  if (wait_) either_.emplace(stop_, wait_->stop());
}

Status AttendedRequest::Await(const std::string& server, const std::string& shown,
                              const std::function<Status()>& begin) {
  if (!wait_) return begin();
  Watch watch(*wait_, *either_, server, shown);
  return watch.Explain(begin());
}

}  // namespace pipeline
