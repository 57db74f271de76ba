// A cloud that is not there, its time, and commands that rent from it and may be killed at any request.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cli/tpu/slice_renter.h"
#include "cli/tpu/tpu_api.h"
#include "storage/memory_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_tpu.h"

namespace pipeline {

/// Lets the time of the world run in place of waiting.
class WorldPause final : public Pause {
 public:
  WorldPause(FakeClock& clock, FakeTpu& cloud) : clock_(clock), cloud_(cloud) {}
  Status For(std::chrono::milliseconds time, std::stop_token stop) override {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    clock_.Advance(time);
    // Whole seconds reach the cloud; the rest waits for the next pause.
    rest_ += time;
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(rest_);
    rest_ -= whole;
    cloud_.Advance(whole);
    return {};
  }

 private:
  FakeClock& clock_;
  FakeTpu& cloud_;
  std::chrono::milliseconds rest_{0};
};

/// Ends the command at one of its requests, in front of it or behind it.
class KillingClient final : public HttpClient {
 public:
  /// `at`: the number of the request, from 0; negative: none.
  KillingClient(std::unique_ptr<HttpClient> client, int at, bool behind, std::stop_source& stop)
      : client_(std::move(client)), at_(at), behind_(behind), stop_(stop) {}
  Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) override {
    const bool kills = at_-- == 0;
    if (kills && behind_) (void)client_->Start(request, stop);
    if (kills) stop_.request_stop();
    return client_->Start(request, stop_.get_token());
  }

 private:
  const std::unique_ptr<HttpClient> client_;
  int at_;
  const bool behind_;
  std::stop_source& stop_;
};

class RentedWorld {
 public:
  FakeTpu cloud;
  FakeClock clock;
  MemoryStore records;
  std::vector<std::string> told;  // lines for people
  std::function<Status()> confirm = [] { return Status(); };

  static SliceWish Wish(const std::string& type = "v3-8") {
    SliceWish wish;
    wish.name = "mine";
    wish.zones = {"us-central1-a", "us-central1-b", "europe-west4-a"};
    wish.order.project = "corpus";
    wish.order.type = *ParseSliceType(type);
    wish.order.most_seconds = 86'400;
    wish.order.wait_seconds = 1'800;
    return wish;
  }

  /// `pipe tpu up`, killed at its request number `kill`; negative: not at all.
  Result<RentedSlice> Up(const SliceWish& wish, int kill = -1, bool behind = false) {
    return As<Result<RentedSlice>>(kill, behind, [&](SliceRenter& renter, const std::stop_token& stop) {
      return renter.Rent(wish, stop);
    });
  }

  /// `pipe tpu down`, likewise.
  Status Down(int kill = -1, bool behind = false) {
    return As<Status>(kill, behind, [&](SliceRenter& renter, const std::stop_token& stop) {
      return renter.GiveBack("mine", "corpus", stop);
    });
  }

  SliceRecords Held() { return SliceRecords(records, "0123456789abcdef0123456789abcdef"); }

 private:
  template <class Outcome, class Command>
  Outcome As(int kill, bool behind, const Command& command) {
    std::stop_source stop;
    WorldPause pause(clock, cloud);
    const RetryMeans retries{{}, &clock, &pause};
    const std::unique_ptr<SliceCloud> api = NewTpuApi(std::make_unique<GoogleApi>(
        "https://tpu.googleapis.com",
        std::make_shared<KillingClient>(NewFakeTpuClient(cloud), kill, behind, stop), nullptr, retries));
    RenterMeans means;
    means.clock = &clock;
    means.confirm = confirm;
    means.pause = &pause;
    means.tell = [this](std::string_view line) { told.emplace_back(line); };
    const SliceRecords own = Held();
    SliceRenter renter(*api, own, means);
    return command(renter, stop.get_token());
  }
};

}  // namespace pipeline
