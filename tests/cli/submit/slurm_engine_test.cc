// The engine with programs of its own in the place of those of Slurm.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cli/submit/engine.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class SlurmEngineTest : public testing::Test {
 protected:
  SlurmEngineTest() : path_(getenv("PATH")) {
    setenv("PATH", (dir_.path().string() + ":" + path_).c_str(), 1);
  }
  ~SlurmEngineTest() override { setenv("PATH", path_.c_str(), 1); }

  void Program(const std::string& name, const std::string& script) {
    WriteFile(dir_ / name, "#!/bin/sh\n" + script);
    ASSERT_EQ(chmod((dir_ / name).c_str(), 0755), 0);
  }

  TempDir dir_;
  const std::string path_;
};

TEST_F(SlurmEngineTest, ATaskThatFailedToStartIsHeldUntilItIsReleased) {
  Program(
      "squeue",
      "echo '4_0|RUNNING|None'; echo '4_1|PENDING|launch failed requeued held'; echo '4_2|PENDING|Priority'; "
      "echo '4_3|PENDING|JobHeldUser'; echo '4_4|COMPLETED|None'");
  Program("scontrol", "echo \"$@\" >" + (dir_ / "called"));
  const std::unique_ptr<Engine> engine = NewSlurmEngine({});
  const Result<EngineState> state = engine->State("4", {});
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->told, "1 running, 3 waiting (launch failed requeued held), 1 COMPLETED");
  EXPECT_EQ(state->held, std::vector<std::string>{"4_1"}) << "a person holds the other one";
  ASSERT_TRUE(engine->Release(state->held, {}).ok());
  EXPECT_EQ(ReadFile(dir_ / "called"), "release 4_1\n");
}

}  // namespace
}  // namespace pipeline
