// The files that an engine reads, compared with those in tests/golden/submit. Real engines and the published
// forms of jobs read the same files: tests/hosts.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/submit/cloud_job.h"
#include "cli/submit/engine.h"
#include "cli/submit/engine_tool.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

WorkerSet Example() {
  WorkerSet set;
  set.name = "cc100_ja";
  set.argv = {"/usr/local/bin/pipe", "worker",  "--plan", "gs://corpus/it's here", "--next",
              "--scratch",           "/scratch"};
  set.workers = 20;
  set.cores = 4;
  set.memory = (std::uint64_t{6} << 30) + 1;
  return set;
}

CloudOptions Cloud() {
  CloudOptions options;
  options.image = "europe-docker.pkg.dev/corpus/images/pipe:0.1.0";
  options.service_account = "workers@corpus.iam.gserviceaccount.com";
  options.region = "europe-west4";
  options.machine_type = "n2-standard-4";
  options.scratch = std::uint64_t{200} << 30;
  return options;
}

/// A file that differs is left in the temporary directory of the system, to look at and to copy.
void ExpectGolden(const std::string& name, std::string_view text) {
  const std::filesystem::path golden = std::filesystem::path(SourceDir()) / "tests/golden/submit" / name;
  if (std::filesystem::exists(golden) && ReadFile(golden) == text) return;
  const std::filesystem::path made = std::filesystem::temp_directory_path() / ("pipe-made-" + name);
  WriteFile(made, text);
  ADD_FAILURE() << golden << " differs from " << made;
}

TEST(EngineFilesTest, ScriptOfSlurm) {
  EngineOptions options;
  options.directory = "/home/me/my run";
  options.words = {"--partition=long", "--comment=a b"};
  ExpectGolden("workers.slurm", SlurmScript(Example(), options));
}

TEST(EngineFilesTest, ScriptOfSlurmForHostsThatMayNotSeeTheDirectory) {
  EngineOptions options;
  options.directory = "/home/me/my run";
  options.everywhere = false;
  ExpectGolden("workers-apart.slurm", SlurmScript(Example(), options));
}

TEST(EngineFilesTest, ScriptOfThisMachine) { ExpectGolden("workers.sh", LocalScript(Example())); }

TEST(EngineFilesTest, ProgramOfRay) { ExpectGolden("ray_workers.py", RayProgram()); }

TEST(EngineFilesTest, JobOfBatch) { ExpectGolden("batch.json", BatchJob(Example(), Cloud())); }

TEST(EngineFilesTest, JobOfKubernetes) {
  CloudOptions options = Cloud();
  options.service_account = "workers";
  WorkerSet set = Example();
  set.argv.insert(set.argv.end(), {"--for", "$(HOME) $HOME"});
  ExpectGolden("kubernetes.yaml", KubernetesJob(set, options));
}

TEST(EngineFilesTest, JobsWithoutScratchAndSpotMachines) {
  CloudOptions options;
  options.image = "pipe";
  options.spot = false;
  WorkerSet set = Example();
  set.name = "_KC moe";
  set.starts = 3;
  ExpectGolden("batch-least.json", BatchJob(set, options));
  ExpectGolden("kubernetes-least.yaml", KubernetesJob(set, options));
}

TEST(CloudOptionsTest, NamesThatTheServiceRefusesAreRefusedBefore) {
  EXPECT_TRUE(CheckCloudOptions("batch", Cloud(), 5'000).ok());
  CloudOptions kubernetes = Cloud();
  kubernetes.service_account = "workers";
  EXPECT_TRUE(CheckCloudOptions("k8s", kubernetes, 100'000).ok());
  EXPECT_TRUE(CheckCloudOptions("batch", {.image = "localhost:5000/Pipe@sha256:0a"}, 1).ok());

  const auto refused = [](std::string_view form, const CloudOptions& options, int workers = 1) {
    return std::string(CheckCloudOptions(form, options, workers).message());
  };
  EXPECT_NE(refused("batch", {.image = "x y"}).find("--image x y: is no name"), std::string::npos);
  EXPECT_NE(refused("batch", {.region = "regions/us-central1"}).find("is no region"), std::string::npos);
  EXPECT_NE(refused("batch", {.machine_type = "n2;rm"}).find("no type of machine"), std::string::npos);
  EXPECT_NE(refused("batch", {.service_account = "workers"}).find("no address"), std::string::npos);
  EXPECT_NE(refused("k8s", Cloud()).find("no name of a Kubernetes account"), std::string::npos);
  EXPECT_NE(refused("batch", Cloud(), 5'001).find("more than a job of Batch can have: 5000"),
            std::string::npos);
  EXPECT_NE(refused("k8s", kubernetes, 100'001).find("Kubernetes can have: 100000"), std::string::npos);
}

using Calls = std::vector<std::vector<std::string>>;

TEST(EngineFilesTest, ArraysHaveAtMostTheLargestNumberOfTasks) {
  WorkerSet set = Example();
  const auto arrays = [&set](int workers) {
    set.workers = workers;
    return SlurmArrays(set, {}, 1001);
  };
  EXPECT_EQ(arrays(1), (Calls{{"--array=0-0"}}));
  EXPECT_EQ(arrays(1001), (Calls{{"--array=0-1000"}}));
  EXPECT_EQ(arrays(2003), (Calls{{"--array=0-1000"}, {"--array=0-1000"}, {"--array=0-0"}}));
}

TEST(EngineFilesTest, TheLargerWorkerIsAnArrayOfItsOwn) {
  WorkerSet set = Example();
  set.most_memory = std::uint64_t{9} << 30;
  EXPECT_EQ(SlurmArrays(set, {"--partition=long"}, 1001),
            (Calls{{"--array=0-0", "--mem=9216M"}, {"--array=0-18"}}));
  EXPECT_EQ(SlurmArrays(set, {"--mem=5G"}, 1001), (Calls{{"--array=0-19"}})) << "the user chose";
  set.workers = 1;
  EXPECT_EQ(SlurmArrays(set, {}, 1001), (Calls{{"--array=0-0", "--mem=9216M"}}));
}

TEST(EngineFilesTest, ShellReadsTheSameWords) {
  EXPECT_EQ(ShellWords({"a", "", "b c", "it's", "$HOME", "x=1"}), "a '' 'b c' 'it'\\''s' '$HOME' x=1");
}

TEST(EngineFilesTest, WordsOfRay) {
  EngineOptions options;
  options.address = "h1:6379";
  WorkerSet set = Example();
  set.argv = {"/bin/pipe", "worker"};
  EXPECT_EQ(ShellWords(RayWords(set, options, "/d/ray_workers.py")),
            "python3 /d/ray_workers.py --address h1:6379 --workers 20 --cores 4 --memory 6442450945 --starts "
            "100 -- "
            "/bin/pipe worker");
}

}  // namespace
}  // namespace pipeline
