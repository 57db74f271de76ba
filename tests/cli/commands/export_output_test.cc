// All that `pipe cat` and `pipe stats` print of each export format: of an artifact, of a shard that is named
// by its path, of a shard without its artifact, and of a spill.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/digest.h"
#include "storage/local_store.h"
#include "tests/cli/run_pipe.h"
#include "tests/stages/verify/published_kinds.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

/// Returns the output of the commands about `place`, without the name of the temporary directory.
std::string Said(const TempDir& dir, const std::string& place) {
  std::string said;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"cat", place}, {"cat", place, "--json"}, {"stats", place}, {"stats", place, "--json"}}) {
    const Ran ran = RunPipe(words);
    said += StrCat("exit code ", ran.exit_code, "\n", ran.out, ran.err);
  }
  const std::string name = dir.path().string();
  for (std::size_t at = said.find(name); at != std::string::npos; at = said.find(name, at))
    said.replace(at, name.size(), "DIR");
  return said;
}

/// Writes to `place` the files that the first pass of the stage makes of one partition of lines.
void WriteOutputs(const PublishedKind& kind, const std::string& place) {
  StageContext context;
  context.name = "out";
  context.config = kind.config;
  context.schema = {{{"text", ColumnType::kUtf8}, {"split", ColumnType::kU8}}, {"train", "validation"}};
  if (const auto tokenizer = TokenizerOf(kind)) context.artifacts.emplace("tokenizer", *tokenizer);
  Batch batch = BatchesOf(RandomPackedCorpus(1, 20)).front();
  if (kind.labels) {
    context.schema.columns["label"] = ColumnType::kUtf8;
    for (std::size_t row = 0; row < batch.size(); ++row) batch.label.Append("no");
  }
  const auto stage = kind.type.sink()->make(context);
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  if ((*stage)->encoder() != nullptr) ApplyTo(batch, *(*stage)->encoder());
  LocalStore store(place);
  const auto sink = (*stage)->OpenPartition(store, batch.partition);
  ASSERT_TRUE((*sink)->Write(batch).ok());
  ASSERT_TRUE((*sink)->Commit({}).ok());
}

/// Returns the output of the commands by "KIND SCENE".
std::map<std::string, std::string> SaidOf(const PublishedKind& kind) {
  std::map<std::string, std::string> said;
  const TempDir dir;
  const Manifest manifest = PublishKind(kind, dir / "out");
  said[kind.name + " artifact"] = Said(dir, dir / "out");
  const std::filesystem::path shard = dir.path() / "out" / manifest.shards.front().object.name;
  said[kind.name + " shard"] = Said(dir, shard.string());
  std::filesystem::create_directories(dir / "alone");
  const std::filesystem::path alone = dir.path() / "alone" / shard.filename();
  std::filesystem::copy_file(shard, alone);
  said[kind.name + " alone"] = Said(dir, alone.string());
  std::filesystem::rename(alone, dir / "alone/copy");
  said[kind.name + " unnamed"] = Said(dir, dir / "alone/copy");
  WriteOutputs(kind, dir / "spills");
  if (std::filesystem::exists(dir / "spills/0000-00000.spill"))
    said[kind.name + " spill"] = Said(dir, dir / "spills/0000-00000.spill");
  return said;
}

TEST(ExportOutputTest, IsTheSameAsEver) {
  std::map<std::string, std::string> golden;
  std::ifstream file(SourceDir() + "/tests/golden/export_output.txt");
  for (std::string line; std::getline(file, line);)
    golden[line.substr(0, line.rfind(' '))] = line.substr(line.rfind(' ') + 1);
  for (const PublishedKind& kind : PublishedKinds()) {
    if (kind.name == "tfds_tokens") continue;  // its lines are cut by a tokenizer that is trained here
    for (const auto& [scene, said] : SaidOf(kind)) {
      EXPECT_EQ(golden[scene], DigestOf(said).ToHex()) << scene << "\n" << said.substr(0, 2000);
      golden.erase(scene);
    }
  }
  for (const auto& [scene, digest] : golden) ADD_FAILURE() << scene << " is golden and was not seen";
}

}  // namespace
}  // namespace pipeline
