// `pipe cat` of the output of write_tfdata.
#include "stages/export/tfdata/tfdata.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cli/run_pipe.h"
#include "tests/stages/export/tfdata/tfdata_artifact.h"
#include "tests/stages/verify/published_artifact.h"

namespace pipeline {
namespace {

TEST(TfdataArtifactTest, CatPrintsIds) {
  const TempDir dir;
  auto tokenizer = std::make_shared<MapStore>();
  (*tokenizer)["spm.model"] = "a model";
  StageContext context;
  context.name = "ids";
  context.config = TfdataConfig();
  context.schema.splits = {"train", "validation"};
  context.artifacts["tokenizer"] = {tokenizer, "", ToJson(PipeTokenizer("a model"))};
  const Manifest manifest =
      PublishAt(dir / "out", WriteTfdataType(), context, BatchesOf(RandomPackedCorpus(2, 60)));
  const std::string first = manifest.shards.front().object.name;
  const std::string id = std::to_string(*ParseTfdataElement(ReadFile(dir / "out/" + first).substr(12, 10)));
  EXPECT_EQ(RunPipe({"cat", dir / "out", "-l", "1"}).out, id + "\n");
  EXPECT_EQ(RunPipe({"cat", dir / "out/" + first, "-l", "1"}).out, id + "\n");
  EXPECT_EQ(RunPipe({"cat", dir / "out", "-l", "1", "--json"}).out,
            "{\"id\":" + id + ",\"index\":0,\"shard\":0,\"split\":\"train\"}\n");
}

}  // namespace
}  // namespace pipeline
