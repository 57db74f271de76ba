#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/submission/submission_run.h"

namespace pipeline {
namespace {

/// An engine that failed to start two workers and holds them.
class HoldingEngine final : public Engine {
 public:
  Result<std::string> Start(const WorkerSet&, const std::stop_token&) override { return std::string("7"); }
  Result<EngineState> State(const std::string&, const std::stop_token&) override {
    EngineState state;
    if (released.empty())
      state.held = {"7_0", "7_2"};
    else
      state.over = true;
    return state;
  }
  Status Cancel(const std::string&, const std::stop_token&) override { return {}; }
  Status Release(const std::vector<std::string>& held, const std::stop_token&) override {
    released = held;
    return {};
  }
  std::string Messages() const override { return {}; }

  std::vector<std::string> released;
};

TEST(SubmissionWatchTest, WorkersThatTheEngineHoldsAreReleased) {
  HoldingEngine engine;
  Submission submission;
  submission.engine = "slurm";
  submission.job = "7";
  WaitForWorkers(engine, submission, {});
  EXPECT_EQ(engine.released, (std::vector<std::string>{"7_0", "7_2"}));
}

}  // namespace
}  // namespace pipeline
