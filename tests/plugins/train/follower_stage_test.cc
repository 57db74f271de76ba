// The stage `train` on host 1 of two, in a directory that both see; the test is host 0, and the trainer has
// no model.
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "plugins/train/hosts/host_card.h"
#include "tests/plugins/train/train_stage_fixture.h"

namespace pipeline {
namespace {

class FollowerStageTest : public TrainStageTest {
 protected:
  FollowerStageTest() {
    config_["patience"] = 1.0;
    config_["grace"] = 30;
    config_["steps"] = 1'000'000;
    Does(R"([{"steps": 1000000000}])");
    position_.host = 1;
    position_.hosts = 2;
    position_.answer = Json(Json::Object{{"host", 1}, {"hosts", 2}, {"leader", "127.0.0.1"}});
    host_.metadata = [this](std::string_view path) -> Result<std::optional<std::string>> {
      return std::optional<std::string>(path == "instance/preempted" && preempted_ ? "TRUE" : "FALSE");
    };
  }

  std::optional<HostCard> OwnCard() const {
    const std::filesystem::path path = root_ / "run/hosts/1.json";
    if (!std::filesystem::exists(path)) return {};
    const Result<HostCard> card = ParseHostCard(ReadFile(path), path.string());
    return card.ok() ? std::optional(*card) : std::nullopt;
  }
  void Replace(const std::string& name, const std::string& bytes) const {
    WriteFile(root_ / "part", bytes);
    std::filesystem::rename(root_ / "part", root_ / StrCat("run/", name));
  }
  bool HasStepped() {
    const std::scoped_lock lock(mutex_);
    return events_["step"] > 0;
  }
  /// Host 0 begins an attempt and lives until the run of host 1 has ended; calls `when_it_trains` once,
  /// after a step.
  Status RunBesideLeader(const std::function<void()>& when_it_trains) {
    std::filesystem::create_directories(root_ / "run/hosts");
    std::filesystem::create_directories(root_ / "run/attempts");
    const std::jthread leader([&](const std::stop_token& stop) {
      HostCard card;
      card.hosts = 2;
      card.nonce = "leader";
      bool has_begun = false, has_trained = false;
      while (!stop.stop_requested()) {
        ++card.sign;
        Replace("hosts/0.json", card.Encode());
        const auto other = OwnCard();
        if (other && !std::exchange(has_begun, true)) {
          AttemptRecord attempt;
          attempt.number = 1;
          attempt.nonces = {card.nonce, other->nonce};
          attempt.coordinator = "127.0.0.1:1";
          attempt.data = other->digests.at("data");
          Replace("attempts/00001.json", attempt.Encode());
        }
        if (other && other->trains == 1 && HasStepped() && !std::exchange(has_trained, true))
          when_it_trains();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
    return Run().status();
  }
  void ExpectSavedAndTold() {
    EXPECT_EQ(events_["preempt"], 1) << log_;
    EXPECT_GE(events_["ckpt_commit"], 1) << log_;
    const auto card = OwnCard();
    ASSERT_TRUE(card);
    EXPECT_TRUE(card->leaves) << "the others would not save";
    EXPECT_EQ(card->trains, 0);
    ASSERT_TRUE(card->ended);
    EXPECT_EQ(card->ended->code, 42);
    EXPECT_EQ(card->ended->signal, 0);
  }

  std::atomic<bool> preempted_ = false;
};

TEST_F(FollowerStageTest, ANoticeOfPreemptionSavesAndTellsTheOthers) {
  const Status ended = RunBesideLeader([this] { preempted_ = true; });
  EXPECT_EQ(ended.code(), Code::kPreempted);
  EXPECT_NE(ended.message().find("the provider takes this machine"), std::string::npos) << ended.message();
  ExpectSavedAndTold();
}

TEST_F(FollowerStageTest, AStopSavesAndTellsTheOthers) {
  const Status ended = RunBesideLeader([this] { stop_.request_stop(); });
  EXPECT_EQ(ended.code(), Code::kCancelled);
  ExpectSavedAndTold();
}

}  // namespace
}  // namespace pipeline
