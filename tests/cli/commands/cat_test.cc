#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "dag/books/quarantine.h"
#include "dag/books/run_log.h"
#include "formats/sentencepiece_model.h"
#include "formats/spill_file.h"
#include "storage/local_store.h"
#include "tests/cli/run_pipe.h"
#include "tests/stages/verify/small_artifact.h"
#include "tests/support/compress.h"

namespace pipeline {
namespace {

/// The exit code of `pipe cat` with standard output going to `descriptor`, which is closed.
int CatInto(int descriptor, const std::string& what) {
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(descriptor, STDOUT_FILENO);
  close(descriptor);
  const int code = RunPipeUncaptured({"cat", what});
  dup2(kept, STDOUT_FILENO);
  close(kept);
  return code;
}

std::string SpillOf(const std::vector<SpillRow>& rows, std::uint8_t split) {
  std::string file;
  SpillFileWriter writer(0, 3, {}, [&file](std::string_view bytes) {
    file.append(bytes);
    return Status();
  });
  EXPECT_TRUE(writer.BeginSplit(split, rows.size()).ok());
  for (const SpillRow& row : rows) EXPECT_TRUE(writer.Add(row).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return file;
}

TEST(CatTest, PrintsADataSetSplitBySplit) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const Ran text = RunPipe({"cat", set.place()});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(text.out, "猫が鳴く\ntwo\\nlines\nthree\nfour\n");
  EXPECT_EQ(RunPipe({"cat", set.place(), "--json"}).out,
            R"({"features":{"text":"猫が鳴く"},"index":0,"shard":0,"split":"train"})"
            "\n"
            R"({"features":{"text":"two\nlines"},"index":1,"shard":0,"split":"train"})"
            "\n"
            R"({"features":{"text":"three"},"index":0,"shard":1,"split":"train"})"
            "\n"
            R"({"features":{"text":"four"},"index":0,"shard":0,"split":"validation"})"
            "\n");
}

TEST(CatTest, EndsAtTheLimitOverAllObjects) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  EXPECT_EQ(RunPipe({"cat", set.place(), "-l", "3"}).out, "猫が鳴く\ntwo\\nlines\nthree\n");
}

TEST(CatTest, KnowsAShardByItsContent) {
  const TempDir dir;
  WriteFile(dir / "copy", Framed({TextExample("a"), TextExample("b")}));
  EXPECT_EQ(RunPipe({"cat", dir / "copy"}).out, "a\nb\n");
  EXPECT_EQ(RunPipe({"cat", dir / "copy", "--json", "-l", "1"}).out,
            "{\"features\":{\"text\":\"a\"},\"index\":0}\n");
  WriteFile(dir / "my_set-test.tfrecord-00004-of-00010", Framed({TextExample("a")}));
  EXPECT_EQ(RunPipe({"cat", dir / "my_set-test.tfrecord-00004-of-00010", "--json"}).out,
            "{\"features\":{\"text\":\"a\"},\"index\":0,\"shard\":4,\"split\":\"test\"}\n");
}

TEST(CatTest, PrintsFeaturesOfAnyKind) {
  const TempDir dir;
  std::string example;
  AppendTfExample(example,
                  {{"a", TfBytesList{"x", "\xff"}}, {"ids", TfInt64List{-1}}, {"w", TfFloatList{0.5F}}});
  WriteFile(dir / "shard", Framed({example}));
  EXPECT_EQ(RunPipe({"cat", dir / "shard"}).out, R"({"a":["x",{"base64":"/w=="}],"ids":[-1],"w":[0.5]})"
                                                 "\n");
}

TEST(CatTest, PrintsExamplesForBert) {
  const TempDir dir;
  std::string example;
  AppendTfExample(example, {{"input_ids", TfInt64List{2, 9, 3, 0}}, {"input_mask", TfInt64List{1, 1, 1, 0}}});
  const std::string features = R"({"input_ids":[2,9,3,0],"input_mask":[1,1,1,0]})";
  const std::string shard = dir / "validation-00001-of-00003.tfrecord";
  WriteFile(shard, Framed({example}));
  EXPECT_EQ(RunPipe({"cat", shard}).out, features + "\n");
  EXPECT_EQ(RunPipe({"cat", shard, "--json"}).out,
            R"({"features":)" + features + R"(,"index":0,"shard":1,"split":"validation"})" + "\n");
}

TEST(CatTest, PrintsJsonLinesAsTheyAre) {
  const TempDir dir;
  const std::string rows = "{\"text\":\"猫\"}\n\n{\"text\": 7}\n";
  for (const char* const name : {"train.json", "train-00001-of-00004.jsonl"}) {
    WriteFile(dir / name, rows);
    EXPECT_EQ(RunPipe({"cat", dir / name}).out, rows) << name;
    EXPECT_EQ(RunPipe({"cat", dir / name, "--json", "-l", "1"}).out,
              R"({"line":1,"text":"{\"text\":\"猫\"}"})"
              "\n");
  }
}

TEST(CatTest, PrintsPartitionsWithTheirOrigins) {
  const TempDir dir;
  GoodIntermediate(dir / "docs");
  EXPECT_EQ(RunPipe({"cat", dir / "docs"}).out, "one\ntwo\nthree\n");
  const std::string last = R"("document":0,"index":0,"key":"0000000000000abc","partition":"0000-00001"})";
  const std::string all = RunPipe({"cat", dir / "docs", "--json"}).out;
  EXPECT_NE(all.find(R"({"columns":{"split":"validation","text":"two"},)"), std::string::npos) << all;
  EXPECT_NE(all.find(R"({"columns":{"split":"train","text":"three"},)" + last), std::string::npos) << all;
  EXPECT_EQ(RunPipe({"cat", dir / "docs/0000-00001.part", "--json"}).out,
            R"({"columns":{"split":0,"text":"three"},)" + last + "\n")
      << "an object alone does not know the names of splits";
  std::filesystem::remove(dir / "docs/MANIFEST.json");
  EXPECT_EQ(RunPipe({"cat", dir / "docs"}).out, "one\ntwo\nthree\n") << "of a run that goes on";
}

TEST(CatTest, PrintsSpills) {
  const TempDir dir;
  const std::string payload = Framed({TextExample("spilled")});
  WriteFile(dir / "0000-00003.spill",
            SpillOf({{0x10, 7, 0, payload}, {0xabcdef0123456789, 2, 1, payload}}, 1));
  EXPECT_EQ(RunPipe({"cat", dir.path().string()}).out, "spilled\nspilled\n");
  EXPECT_EQ(
      RunPipe({"cat", dir / "0000-00003.spill", "--json"}).out,
      R"({"features":{"text":"spilled"},"hash":"0000000000000010","index":7,"partition":"0000-00003","split":1})"
      "\n"
      R"({"features":{"text":"spilled"},"hash":"abcdef0123456789","index":2,"partition":"0000-00003","split":1,"sub":1})"
      "\n");
}

TEST(CatTest, PrintsQuarantineWithStageAndReason) {
  const TempDir dir;
  LocalStore work(dir.path().string());
  for (const std::uint32_t partition : {1u, 0u}) {
    QuarantineWriter writer(work, {{"lines", {}}, {"my-clean", {}}}, {0, partition});
    ASSERT_TRUE(writer.Add({{0, 3, 0, "nul", std::string("a\0b", 3)}, {1, 4, 2, "dropped_empty", ""}}).ok());
    ASSERT_TRUE(writer.Add({{0, 9, 0, "invalid_utf8", "a\xff"}}).ok());
    ASSERT_TRUE(writer.Commit().ok());
  }
  const std::string clean = dir / "quarantine/my-clean-0000000000000000";
  EXPECT_EQ(
      RunPipe({"cat", clean, "--json"}).out,
      R"({"index":4,"partition":"0000-00000","reason":"dropped_empty","stage":"my-clean","sub":2,"text":""})"
      "\n"
      R"({"index":4,"partition":"0000-00001","reason":"dropped_empty","stage":"my-clean","sub":2,"text":""})"
      "\n");
  const std::string lines = dir / "quarantine/lines-0000000000000000/0000-00001.jsonl";
  EXPECT_EQ(RunPipe({"cat", lines}).out, std::string("nul\ta\0b\ninvalid_utf8\ta\xff\n", 24));
  EXPECT_EQ(RunPipe({"cat", lines, "--json"}).out,
            R"({"index":3,"partition":"0000-00001","reason":"nul","stage":"lines","text":"a\u0000b"})"
            "\n"
            R"({"base64":"Yf8=","index":9,"partition":"0000-00001","reason":"invalid_utf8","stage":"lines"})"
            "\n");
  const std::string all = RunPipe({"cat", dir / "quarantine"}).out;
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 6);
}

TEST(CatTest, PrintsARunLog) {
  const TempDir dir;
  {
    const Result<std::unique_ptr<RunLog>> log = RunLog::Open(dir / "run.log");
    ASSERT_TRUE(log.ok());
    UnitLine line;
    line.state = UnitState::kFailed;
    line.unit = "text/0000-00001";
    line.reason = "100% damaged";
    ASSERT_TRUE((*log)->Append(line).ok());
  }
  const std::string good = ReadFile(dir / "run.log");
  EXPECT_EQ(RunPipe({"cat", dir / "run.log"}).out, "failed\tunit=text/0000-00001\treason=100%25 damaged\n");
  EXPECT_EQ(RunPipe({"cat", dir / "run.log", "--json"}).out,
            R"({"fields":{"reason":"100% damaged","unit":"text/0000-00001"},"kind":"failed","line":2})"
            "\n");

  WriteFile(dir / "run.log", good + "done\tunit=half of a li");
  EXPECT_EQ(RunPipe({"cat", dir / "run.log"}).exit_code, 0) << "a line may be on its way";
  WriteFile(dir / "run.log", "# pipe run log v2\n" + good.substr(good.find('\n') + 1));
  EXPECT_NE(RunPipe({"cat", dir / "run.log"}).err.find("written by another version"), std::string::npos);
  WriteFile(dir / "run.log", good + "damaged\n" + good.substr(good.find('\n') + 1));
  const Ran damaged = RunPipe({"cat", dir / "run.log"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_EQ(std::count(damaged.out.begin(), damaged.out.end(), '\n'), 2) << "what stands on both sides";
  EXPECT_NE(damaged.err.find("run.log: line 3: damaged, 1 in all"), std::string::npos) << damaged.err;
}

TEST(CatTest, PrintsThePiecesOfATokenizer) {
  const TempDir dir;
  SentencePieceModel model = SentencePieceModel::Parse("\x0a\x09\x0a\x05<unk>\x18\x02").value();
  model.AppendPiece({"\n", 0, PieceType::kUserDefined});
  model.AppendPiece({"猫", -3.2F, PieceType::kNormal});
  WriteFile(dir / "tokenizer.model", model.Serialize());
  const Ran text = RunPipe({"cat", dir / "tokenizer.model"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "<unk>\n\\n\n猫\n");
  EXPECT_EQ(RunPipe({"cat", dir / "tokenizer.model", "--json"}).out,
            R"({"id":0,"piece":"<unk>","score":0.0,"type":"unknown"})"
            "\n"
            R"({"id":1,"piece":"\n","score":0.0,"type":"user_defined"})"
            "\n"
            R"({"id":2,"piece":"猫","score":-3.2,"type":"normal"})"
            "\n");
  WriteFile(dir / "tokenizer.model", "no model");
  EXPECT_EQ(RunPipe({"cat", dir / "tokenizer.model"}).exit_code, 1);
}

TEST(CatTest, PrintsWhatStandsBeforeDamage) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  std::string shard = ReadFile(set.Path(kFirstShard));
  shard.back() ^= 1;
  WriteFile(set.Path(kFirstShard), shard);
  const Ran ran = RunPipe({"cat", set.place()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "猫が鳴く\n");
  EXPECT_NE(ran.err.find(set.Path(kFirstShard) + ": record at offset "), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);

  shard[0] ^= 1;
  WriteFile(set.Path(kFirstShard), shard);
  EXPECT_EQ(RunPipe({"cat", set.Path(kFirstShard)}).exit_code, 1) << "its name still tells what it is";
  std::filesystem::remove(set.Path(kFirstShard));
  EXPECT_EQ(RunPipe({"cat", set.place()}).exit_code, 1);
}

TEST(CatTest, AReaderThatHadEnoughIsNoError) {
  const TempDir dir;
  SmallDataSet set(dir / "out");
  set.AddSplit("train", {std::vector<std::string>(100, TextExample(std::string(5000, 'x')))});
  set.Finish();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(CatInto(ends[1], set.place()), 0);
}

TEST(CatTest, AFullDiskIsAnError) {
  const TempDir dir;
  const SmallDataSet set = GoodDataSet(dir / "out");
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_EQ(CatInto(full, set.place()), 1);
}

TEST(CatTest, RefusesWhatIsNotOursAndSaysWhatItIs) {
  const TempDir dir;
  const auto refusal = [&](std::string_view bytes) {
    WriteFile(dir / "thing", bytes);
    const Ran ran = RunPipe({"cat", dir / "thing"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_NE(refusal("\x1f\x8b\x08 and so on").find("damaged gzip data"), std::string::npos);
  EXPECT_NE(refusal(std::string_view("\xFD"
                                     "7zXZ\0 and so on",
                                     17))
                .find("damaged xz data"),
            std::string::npos);
  EXPECT_NE(refusal(std::string_view("name\0 of a tar", 14)).find("no format that is known here"),
            std::string::npos);
  EXPECT_NE(refusal(std::string(100, '\x80')).find("no format that is known here"), std::string::npos);
  EXPECT_NE(refusal("").find("it is empty"), std::string::npos);
  EXPECT_EQ(RunPipe({"cat", dir / "nowhere"}).exit_code, 2);
  EXPECT_EQ(RunPipe({"cat", dir.path().string()}).exit_code, 2);
}

TEST(CatTest, PrintsTextLineByLine) {
  const TempDir dir;
  WriteFile(dir / "text", "日本語の文章\n\nend");
  EXPECT_EQ(RunPipe({"cat", dir / "text"}).out, "日本語の文章\n\nend\n");
  EXPECT_EQ(RunPipe({"cat", dir / "text", "--limit", "1"}).out, "日本語の文章\n");
  EXPECT_EQ(RunPipe({"cat", dir / "text", "--limit", "0"}).out, "");
  EXPECT_EQ(RunPipe({"cat", dir / "text", "--json"}).out,
            "{\"line\":1,\"text\":\"日本語の文章\"}\n{\"line\":2,\"text\":\"\"}\n"
            "{\"line\":3,\"text\":\"end\"}\n");
}

TEST(CatTest, TextIsPrintedAsARunReadsIt) {
  const TempDir dir;
  std::string shift_jis;  // "猫が鳴く。"
  for (int line = 0; line < 3; ++line) shift_jis += "\x94\x4c\x82\xaa\x96\xc2\x82\xad\x81\x42\r\n";
  WriteFile(dir / "text.txt.gz", GzipCompress(shift_jis));
  EXPECT_EQ(RunPipe({"cat", dir / "text.txt.gz"}).out, "猫が鳴く。\n猫が鳴く。\n猫が鳴く。\n");
  WriteFile(dir / "old-mac", "\xEF\xBB\xBF一\r二\r");
  EXPECT_EQ(RunPipe({"cat", dir / "old-mac"}).out, "一\n二\n");
  WriteFile(dir / "report.pdf", "%PDF-1.4\n");
  const Ran refused = RunPipe({"cat", dir / "report.pdf"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("report.pdf: is a PDF document"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("no object"), std::string::npos) << refused.err;
}

TEST(CatTest, SeveralPlacesArePrintedOneAfterTheOther) {
  const TempDir dir;
  WriteFile(dir / "a", "一\n");
  WriteFile(dir / "b", "二");
  EXPECT_EQ(RunPipe({"cat", dir / "b", dir / "a", dir / "b"}).out, "二\n一\n二\n");
  EXPECT_EQ(RunPipe({"cat", dir / "b", dir / "a", "--limit", "1"}).out, "二\n");
  const Ran ran = RunPipe({"cat", dir / "a", dir / "c"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("/c: "), std::string::npos) << ran.err;
}

TEST(CatTest, TextThatIsDamagedFurtherOnIsPrintedUpToThere) {
  const TempDir dir;
  WriteFile(dir / "text", StrCat(std::string(5000, 'a'), "\n\xff\n"));
  const Ran ran = RunPipe({"cat", dir / "text", "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find(R"({"line":2,"text":{"base64":"/w=="}})"), std::string::npos);
}

TEST(CatTest, AnEmptyShardIsNoError) {
  const TempDir dir;
  WriteFile(dir / "tiny-test.tfrecord-00000-of-00001", "");
  const Ran ran = RunPipe({"cat", dir / "tiny-test.tfrecord-00000-of-00001"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out + ran.err, "");
}

}  // namespace
}  // namespace pipeline
