// What goes wrong between us and a bucket: the scenarios A to S.
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/remote/gcs/gcs_store.h"
#include "tests/storage/remote/gcs/gcs_fixture.h"
#include "tests/storage/store_reading.h"
#include "tests/support/compress.h"
#include "tests/support/fake_tokens.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

class GcsScenarioTest : public testing::Test, public GcsFixture {
 protected:
  const std::string big_ = PatternBytes(10 << 20);

  Result<ObjectInfo> Write(std::string_view name, std::string_view bytes) {
    return WriteObject(*store_, name, bytes, Condition::CreateOnly());
  }
  /// Written under the faults that were asked for, it is there, once, and all of them struck.
  void ExpectArrives(std::string_view name, std::string_view bytes, std::string_view scenario, int strikes) {
    const Result<ObjectInfo> info = Write(name, bytes);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->size, bytes.size());
    EXPECT_EQ(info->crc32c, Crc32c(bytes));
    EXPECT_TRUE(Stored(name) == bytes);
    EXPECT_EQ(fake.objects().overwritten(), 0);
    EXPECT_EQ(fake.uploads().open(), 0) << "a session is left";
    EXPECT_EQ(fake.faults().Counts()[std::string(scenario)], strikes) << scenario;
  }
  void Fault(std::string_view operation, std::string_view word) {
    EXPECT_TRUE(fake.faults().Add(StrCat("storage.objects.", operation), word)) << word;
  }
  int Requests(std::string_view operation) { return fake.requests(StrCat("storage.objects.", operation)); }
  /// All of an object; the failure as text.
  std::string Read(std::string_view name, std::uint64_t offset = 0) {
    const auto file = store_->Open(name);
    if (!file.ok()) return std::string(file.status().message());
    const auto reader = (*file)->Open(offset, {});
    Status status;
    std::string bytes = ReadAll(**reader, status);
    return status.ok() ? bytes : std::string(status.message());
  }
  void Put(std::string_view name, std::string_view bytes, const Json& given = Json(Json::Object{})) {
    fake.Put(kFakeBucket, StrCat("out/", name), bytes, given);
  }

  std::unique_ptr<Store> store_ = Open();
};

TEST_F(GcsScenarioTest, A_AChunkThatIsKeptInPartIsSentFromThere) {
  Fault("insert.chunk", "return-503-after-700K");
  Fault("insert.chunk", "return-503-after-3000K");
  ExpectArrives("big", big_, "A", 2);
  EXPECT_EQ(Requests("insert.start"), 1);
  EXPECT_EQ(Requests("insert.query"), 2);
  std::vector<std::string> ranges;
  for (const std::string& range : fake.HeadersSent("content-range")) ranges.push_back(range);
  // 700K is 2 quanta of 256K; 3000K from there on are 11 more.
  EXPECT_EQ(ranges, (std::vector<std::string>{"bytes 0-10485759/10485760", "bytes */*",
                                              "bytes 524288-10485759/10485760", "bytes */*",
                                              "bytes 3407872-10485759/10485760"}));
}

TEST_F(GcsScenarioTest, A_AConnectionThatIsResetInAChunk) {
  for (const char* word : {"return-reset-connection-after-40K", "return-reset-connection-after-700K"})
    Fault("insert.chunk", word);
  ExpectArrives("big", big_, "A", 2);
  EXPECT_EQ(Requests("insert.start"), 1);
}

TEST_F(GcsScenarioTest, A_AWholeUploadThatBreaksOff) {
  Fault("insert.whole", "return-reset-connection-after-40K");
  ExpectArrives("small", PatternBytes(100'000), "A", 1);
}

TEST_F(GcsScenarioTest, B_AnAnswerWithoutRangeIsAskedForAgain) {
  Fault("insert.chunk", "return-503-after-1000K");
  Fault("insert.query", "return-308-without-range");
  ExpectArrives("big", big_, "B", 1);
  // To a query it says that nothing has arrived: the session is told all of it again.
  EXPECT_EQ(Requests("insert.start"), 1);
}

TEST_F(GcsScenarioTest, C_AFailureAtAnyStep) {
  Fault("insert.start", "return-503");
  Fault("insert.chunk", "return-500");
  Fault("insert.chunk", "return-408");
  Fault("insert.query", "return-502");
  ExpectArrives("big", big_, "C", 4);
}

TEST_F(GcsScenarioTest, C_AnAnswerThatIsLostAfterTheObjectWasMade) {
  for (const char* word : {"return-503-after-commit", "return-0-after-commit"}) {
    Fault("insert.whole", word);
    Fault("insert.chunk", word);
    const std::string small = StrCat("small-", word), large = StrCat("large-", word);
    for (const auto& [name, bytes] : {std::pair(small, std::string("bytes")), std::pair(large, big_)}) {
      const Result<ObjectInfo> info = Write(name, bytes);
      ASSERT_TRUE(info.ok()) << info.status().message();
      EXPECT_TRUE(Stored(name) == bytes);
    }
  }
  EXPECT_EQ(fake.objects().overwritten(), 0);
  EXPECT_EQ(fake.faults().Counts()["C"], 4);
}

TEST_F(GcsScenarioTest, C_ALostAnswerOfAReplacementIsItsOwn) {
  const std::string first = Write("a", "first")->version;
  Fault("insert.whole", "return-503-after-commit");
  const Result<ObjectInfo> second = WriteObject(*store_, "a", "second", Condition::Replace(first));
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_NE(second->version, first);
  EXPECT_EQ(fake.objects().overwritten(), 1);
  // The same bytes from somebody else are not: an update would be lost.
  Fault("insert.whole", "race");
  EXPECT_EQ(WriteObject(*store_, "a", "third", Condition::Replace(second->version)).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(GcsScenarioTest, D_ALostSessionBeginsAgainFromTheSpool) {
  Fault("insert.chunk", "return-503-after-2000K");
  Fault("insert.query", "expire-session-410");
  Fault("insert.chunk", "expire-session-404");
  const Result<ObjectInfo> info = Write("big", big_);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_TRUE(Stored("big") == big_);
  EXPECT_EQ(Requests("insert.start"), 3);
  EXPECT_EQ(fake.faults().Counts()["D"], 2);
  EXPECT_EQ(ReadFile(spool / "s/sessions"), "");
}

TEST_F(GcsScenarioTest, D_AServerThatLosesEverySessionIsLeft) {
  for (int i = 0; i < 100; ++i) Fault("insert.chunk", "expire-session-404");
  const Status failed = Write("big", big_).status();
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(Stored("big"), "absent");
}

TEST_F(GcsScenarioTest, E_ATokenThatEndsInAnUploadIsRenewed) {
  FakeTokens servers;
  GcsTokenTools tools{servers.Client(), servers.Client()};
  tools.means.pause = &pause;
  const auto auth =
      std::make_shared<GcsAuth>(GcsCredentials{MetadataAccount{servers.host()}, "metadata server"}, tools);
  std::mutex mutex;
  std::set<std::string, std::less<>> ended;
  fake.RequireToken([&](std::string_view token) {
    const std::scoped_lock lock(mutex);
    return servers.Knows(token) && ended.count(token) == 0;
  });
  store_ = Open(Settings(), auth);
  Fault("insert.chunk", "return-401");
  ExpectArrives("big", big_, "E", 1);
  EXPECT_EQ(servers.requests("metadata"), 2);
  EXPECT_TRUE(pause.waits().empty()) << "a new token is worth no waiting";
  {
    const std::scoped_lock lock(mutex);
    ended.insert("fake-metadata-2");
  }
  EXPECT_TRUE(Read("big") == big_);
  EXPECT_EQ(servers.requests("metadata"), 3);
  fake.RequireToken([](std::string_view) { return false; });
  const Status refused = store_->Stat("big").status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find("metadata server are refused"), std::string::npos) << refused.message();
  EXPECT_EQ(refused.message().find("fake-metadata"), std::string::npos);
}

TEST_F(GcsScenarioTest, F_WaitsAsLongAsItIsAskedTo) {
  Fault("insert.whole", "return-429-retry-after-7");
  ExpectArrives("a", "bytes", "F", 1);
  EXPECT_EQ(pause.waits(), std::vector<std::chrono::milliseconds>{std::chrono::seconds(7)});
}

TEST_F(GcsScenarioTest, G_BytesThatAreDamagedOnTheWayAreSentAgain) {
  Fault("insert.whole", "return-corrupted-data");
  Fault("insert.chunk", "return-corrupted-data");
  ExpectArrives("small", PatternBytes(100'000), "G", 1);
  ExpectArrives("big", big_, "G", 2);
}

TEST_F(GcsScenarioTest, G_NothingDamagedIsEverThere) {
  for (int i = 0; i < 200; ++i) Fault("insert", "return-corrupted-data");
  EXPECT_FALSE(Write("small", PatternBytes(100'000)).ok());
  EXPECT_EQ(Stored("small"), "absent");
}

TEST_F(GcsScenarioTest, H_TwoWritersOfEqualBytesAreBothDone) {
  Fault("insert.whole", "race");
  Fault("insert.chunk", "race");
  ExpectArrives("small", "bytes", "H", 1);
  ExpectArrives("big", big_, "H", 2);
  std::vector<Code> codes(4, Code::kInternal);
  std::vector<std::thread> threads;
  for (Code& code : codes) threads.emplace_back([&] { code = Write("many", "equal").status().code(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(codes, std::vector<Code>(4, Code::kOk));
  EXPECT_EQ(fake.objects().overwritten(), 0);
}

TEST_F(GcsScenarioTest, I_ListsOverPagesOfAnySize) {
  std::vector<std::string> names;
  for (int i = 0; i < 7; ++i) {
    names.push_back(StrCat("dir/", i));
    Put(names.back(), "x");
  }
  for (const char* word : {"pages-of-1", "empty-page", "pages-of-3", "empty-page", "return-503"}) {
    Fault("list", word);
  }
  const auto objects = store_->List("dir/");
  ASSERT_TRUE(objects.ok()) << objects.status().message();
  std::vector<std::string> listed;
  for (const ObjectInfo& info : *objects) listed.push_back(info.name);
  EXPECT_EQ(listed, names);
  EXPECT_EQ(fake.faults().Counts()["I"], 4);
}

TEST_F(GcsScenarioTest, J_ADownloadThatBreaksOffGoesOn) {
  Put("big", big_);
  for (const char* word : {"return-broken-stream-after-900K", "return-reset-connection-after-700K",
                           "return-503", "return-wrong-etag", "return-broken-stream", "return-whole-object"})
    Fault("read", word);
  EXPECT_TRUE(Read("big") == big_);
  EXPECT_EQ(fake.faults().Counts()["J"], 5);
  EXPECT_EQ(fake.HeadersSent("range").front(), "bytes=921600-");
  for (const char* word : {"return-broken-stream", "return-whole-object"}) Fault("read", word);
  EXPECT_TRUE(Read("big", 12'345) == big_.substr(12'345));
}

TEST_F(GcsScenarioTest, J_AByteThatIsDamagedOnTheWayIsToldAtTheEnd) {
  Put("a", PatternBytes(100'000));
  Fault("read", "return-corrupted-data");
  EXPECT_NE(Read("a").find("the bytes that arrived have another CRC-32C"), std::string::npos);
  EXPECT_TRUE(Read("a") == PatternBytes(100'000));
}

TEST_F(GcsScenarioTest, J_ADamagedByteIsNoticedByACallerThatReadsNoFurtherThanTheSize) {
  Put("a", PatternBytes(100'000));
  Fault("read", "return-corrupted-data");
  const auto file = store_->Open("a");
  ASSERT_TRUE(file.ok());
  const auto reader = (*file)->Open(0, {});
  std::string bytes(100'000, '\0');
  const Status read = ReadExactly(**reader, bytes);
  EXPECT_EQ(read.code(), Code::kUnavailable);
  EXPECT_NE(read.Detail<DamagedOnTheWay>(), nullptr);
  Fault("read", "return-corrupted-data");
  Fault("read", "return-corrupted-data");
  const Result<std::string> small = ReadObject(*store_, "a", 100'000);
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_TRUE(*small == PatternBytes(100'000));
}

TEST_F(GcsScenarioTest, K_AnObjectStoredAsGzipIsReadAsItIsStored) {
  const std::string packed = GzipCompress(PatternBytes(2 << 20));
  Json given;
  given["contentEncoding"] = "gzip";
  given["contentType"] = "text/plain";
  Put("text", packed, given);
  Fault("read", "return-broken-stream-after-900K");
  EXPECT_TRUE(Read("text") == packed);
  EXPECT_TRUE(Read("text", 1'000) == packed.substr(1'000));
  EXPECT_GE(fake.faults().Counts()["K"], 3);
}

TEST_F(GcsScenarioTest, L_AStallIsLeftBehind) {
  stall = std::chrono::milliseconds(1'000);
  store_ = Open();
  Put("big", big_);
  Fault("read", "stall-for-60s-after-1000K");
  EXPECT_TRUE(Read("big") == big_);
  Fault("insert.chunk", "stall-for-60s-after-1000K");
  ExpectArrives("other", big_, "L", 2);
}

TEST_F(GcsScenarioTest, M_AnObjectThatIsReplacedBetweenTwoRequestsIsNoMixture) {
  Put("big", big_);
  const auto file = store_->Open("big");
  ASSERT_TRUE(file.ok());
  const auto reader = (*file)->Open(0, {});
  Fault("read", "return-broken-stream-after-900K");
  std::string start(100'000, '\0');
  ASSERT_TRUE(ReadExactly(**reader, start).ok());
  Put("big", std::string(big_.rbegin(), big_.rend()));
  Status status;
  const std::string rest = ReadAll(**reader, status);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("was replaced or removed while it was read"), std::string::npos);
  EXPECT_NE(status.Detail<ReplacedWhileRead>(), nullptr) << "so that a small object is read again";
  EXPECT_TRUE(big_.compare(0, start.size() + rest.size(), start + rest) == 0);
  EXPECT_EQ(fake.faults().Counts()["M"], 1);
}

TEST_F(GcsScenarioTest, N_ARemovalWhoseAnswerWasLostIsARemoval) {
  for (const char* word : {"return-503-after-commit", "return-0-after-commit"}) {
    Put("a", "x");
    Fault("delete", word);
    const Status removed = store_->Remove("a");
    EXPECT_TRUE(removed.ok()) << removed.message();
    EXPECT_EQ(Stored("a"), "absent");
  }
  EXPECT_EQ(fake.faults().Counts()["N"], 2);
}

TEST(GcsRateTest, O_AnObjectThatIsWrittenTooOftenWaits) {
  WaitedClock clock;
  FakeGcsOptions options;
  options.clock = &clock;
  GcsFixture fixture(options);
  fixture.fake.objects().LimitWrites(true);
  GcsSettings settings = fixture.Settings();
  settings.means = {{}, &clock, &clock};
  const auto store = fixture.Open(settings);
  for (int i = 0; i < 5; ++i) {
    const auto info = WriteObject(*store, "progress", std::to_string(i), Condition::ReplaceAny());
    ASSERT_TRUE(info.ok()) << info.status().message();
  }
  EXPECT_EQ(fixture.Stored("progress"), "4");
  EXPECT_GE(fixture.fake.faults().Counts()["O"], 4);
  EXPECT_EQ(fixture.fake.objects().overwritten(), 4);
}

TEST_F(GcsScenarioTest, P_ARewriteTakesAsManyCallsAsItNeeds) {
  Put("big", big_);
  fake.LimitRewrites(4 << 20);
  Fault("rewrite", "return-503");
  const auto file = store_->Open("big");
  const auto writer = store_->Create("copy", Condition::CreateOnly());
  ASSERT_TRUE(file.ok() && writer.ok() && (*writer)->AppendFile(**file, {}).ok());
  const Result<ObjectInfo> info = (*writer)->Commit();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_TRUE(Stored("copy") == big_);
  EXPECT_EQ(Requests("rewrite"), 4);
  EXPECT_EQ(fake.faults().Counts()["P"], 2);
  EXPECT_EQ(Requests("read"), 0);
}

TEST_F(GcsScenarioTest, P_ALostAnswerOfARewriteIsItsOwn) {
  Put("a", "bytes");
  Fault("rewrite", "return-503-after-commit");
  const auto file = store_->Open("a");
  const auto writer = store_->Create("copy", Condition::CreateOnly());
  ASSERT_TRUE(file.ok() && writer.ok() && (*writer)->AppendFile(**file, {}).ok());
  const Result<ObjectInfo> info = (*writer)->Commit();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(Stored("copy"), "bytes");
  Put("a", "other bytes");
  const auto late = store_->Create("late", Condition::CreateOnly());
  ASSERT_TRUE(late.ok() && (*late)->AppendFile(**file, {}).ok());
  EXPECT_EQ((*late)->Commit().status().code(), Code::kDataLoss);
}

TEST_F(GcsScenarioTest, P_ALostAnswerToTheLastOfSeveralCallsIsItsOwn) {
  Put("big", big_);
  fake.LimitRewrites(4 << 20);
  for (int call = 0; call < 3; ++call) Fault("rewrite", "return-503-after-commit");  // the third makes it
  const auto file = store_->Open("big");
  const auto writer = store_->Create("copy", Condition::CreateOnly());
  ASSERT_TRUE(file.ok() && writer.ok() && (*writer)->AppendFile(**file, {}).ok());
  const Result<ObjectInfo> info = (*writer)->Commit();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_TRUE(Stored("copy") == big_);
  EXPECT_EQ(fake.faults().Counts()["C"], 1);
  EXPECT_EQ(fake.objects().overwritten(), 0);
}

TEST_F(GcsScenarioTest, Q_ASessionAtAnAddressThatIsNone) {
  Fault("insert.start", "redirect-session");
  ExpectArrives("big", big_, "Q", 1);
}

TEST_F(GcsScenarioTest, R_ABucketWhoseReaderPays) {
  FakeBucket bucket;
  bucket.requester_pays = true;
  fake.objects().SetBucket(kFakeBucket, bucket);
  const Status refused = Write("a", "bytes").status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("user project"), std::string::npos) << refused.message();
  GcsSettings settings = Settings();
  settings.user_project = "who-pays";
  store_ = Open(settings);
  EXPECT_TRUE(Write("a", "bytes").ok());
  EXPECT_TRUE(Write("big", big_).ok());
  EXPECT_EQ(Read("a"), "bytes");
  EXPECT_TRUE(store_->List("").ok());
  EXPECT_TRUE(store_->Remove("a").ok());
  EXPECT_EQ(fake.faults().Counts()["R"], 1);
}

TEST_F(GcsScenarioTest, S_AMetadataServerThatHasItsDays) {
  FakeTokens servers;
  GcsTokenTools tools{servers.Client(), servers.Client()};
  WaitedClock clock;
  tools.means.clock = &clock;
  tools.means.pause = &clock;
  fake.RequireToken([&](std::string_view token) { return servers.Knows(token); });
  store_ = Open(Settings(), std::make_shared<GcsAuth>(
                                GcsCredentials{MetadataAccount{servers.host()}, "metadata server"}, tools));
  servers.Fail("metadata", 503, 2);
  servers.SetLifetime(std::chrono::seconds(60));
  EXPECT_TRUE(Write("a", "bytes").ok());
  ASSERT_TRUE(clock.For(std::chrono::seconds(61), {}).ok());
  servers.Fail("metadata", 404, 1);
  EXPECT_NE(Read("a").find("has no service account"), std::string::npos);
  EXPECT_EQ(Read("a"), "bytes");
  servers.ForgetFlavor();
  ASSERT_TRUE(clock.For(std::chrono::seconds(61), {}).ok());
  EXPECT_NE(Read("a").find("is no metadata server"), std::string::npos);
}

// ------------------------------------------------------------------------------------- at random

/// Objects of all sizes under a plan that strikes one request in four.
void SoakOnce(std::uint64_t seed) {
  SCOPED_TRACE(StrCat("seed ", seed));
  GcsFixture fixture;
  FakeTokens servers;
  GcsTokenTools tools{servers.Client(), servers.Client()};
  tools.means.pause = &fixture.pause;
  const auto auth =
      std::make_shared<GcsAuth>(GcsCredentials{MetadataAccount{servers.host()}, "metadata server"}, tools);
  fixture.fake.RequireToken([&](std::string_view token) { return servers.Knows(token); });
  fixture.fake.faults().Plan(seed, 0.25);
  const auto store = fixture.Open(fixture.Settings(), auth);
  const std::string bytes = PatternBytes(12 << 20);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 14; ++i) {
        const std::size_t size = i % 7 == 0 ? (8 << 20) + static_cast<std::size_t>(i + thread) * 250'001
                                            : static_cast<std::size_t>(i * i) * 3'001;
        const std::string name = StrCat("t", thread, "/", i);
        const std::string_view written = std::string_view(bytes).substr(static_cast<std::size_t>(i), size);
        const auto info = WriteObject(*store, name, written, Condition::CreateOnly());
        EXPECT_TRUE(info.ok()) << info.status().message();
        EXPECT_TRUE(fixture.Stored(name) == written) << name;
        const auto file = store->Open(name);
        EXPECT_TRUE(file.ok()) << file.status().message();
        for (bool done = !file.ok(); !done;) {
          const auto reader = (*file)->Open(0, {});
          Status status;
          const std::string read = ReadAll(**reader, status);
          done = status.ok();  // what was damaged on the way is told, and read again
          EXPECT_TRUE(!done || read == written) << name;
          EXPECT_TRUE(done || status.code() == Code::kUnavailable) << status.message();
        }
        if (i % 5 != 4) continue;
        EXPECT_TRUE(store->Remove(name).ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto left = store->List("");
  ASSERT_TRUE(left.ok()) << left.status().message();
  EXPECT_EQ(left->size(), 36u);
  EXPECT_EQ(fixture.Everything().size(), 36u) << "something is there that nobody wrote";
  EXPECT_EQ(fixture.fake.objects().overwritten(), 0);
  EXPECT_EQ(fixture.fake.uploads().open(), 0);
  EXPECT_EQ(ReadFile(fixture.spool / "s/sessions"), "");
  const Status removed = store->RemoveAll(*left, [] { return true; });
  EXPECT_TRUE(removed.ok()) << removed.message();
  EXPECT_EQ(fixture.Everything().size(), 0u);
}

TEST(GcsSoakTest, EveryObjectArrivesUnderARandomPlan) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) SoakOnce(seed);
}

}  // namespace
}  // namespace pipeline
