#include "storage/remote/gcs/gcs_store.h"

#include <sys/stat.h>

#include <thread>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/local_file.h"
#include "storage/local_names.h"
#include "storage/remote/gcs/upload_sessions.h"
#include "storage/remote/http/versioned_file.h"
#include "storage/remote/open_store.h"
#include "tests/storage/remote/gcs/gcs_fixture.h"
#include "tests/storage/store_conformance.h"
#include "tests/support/memory_file.h"

namespace pipeline {

class GcsBackend {
 public:
  static constexpr bool kForgetsReplaced = true;  // no versions are kept
  static bool CanName(std::string_view name) { return CheckGcsName(name).ok(); }
  Store& store() { return *store_; }

 private:
  GcsFixture fixture_;
  std::unique_ptr<Store> store_ = fixture_.Open();
};
INSTANTIATE_TYPED_TEST_SUITE_P(Gcs, StoreReading, GcsBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Gcs, StoreConformance, GcsBackend);

namespace {

/// The program is stopped as soon as it waits.
class StoppedPause final : public Pause {
 public:
  Status For(std::chrono::milliseconds, std::stop_token) override {
    return Status(Code::kCancelled, "stopped");
  }
};

class GcsStoreTest : public testing::Test, public GcsFixture {
 protected:
  ObjectInfo Write(Store& store, std::string_view name, std::string_view bytes,
                   const Condition& condition = Condition::CreateOnly()) {
    const Result<ObjectInfo> info = WriteObject(store, name, bytes, condition);
    EXPECT_TRUE(info.ok()) << info.status().message();
    return info.ok() ? *info : ObjectInfo();
  }
  void Fault(std::string_view operation, std::string_view word) {
    EXPECT_TRUE(fake.faults().Add(operation, word)) << word;
  }
  int Requests(std::string_view operation) { return fake.requests(StrCat("storage.objects.", operation)); }
  std::string Sessions() {
    const std::string path = spool / "s/sessions";
    return std::filesystem::exists(path) ? ReadFile(path) : "";
  }
};

TEST_F(GcsStoreTest, ASmallObjectIsOneRequest) {
  const auto store = Open();
  const ObjectInfo info = Write(*store, "a b/ä", "bytes");
  EXPECT_EQ(info.crc32c, Crc32c("bytes"));
  EXPECT_EQ(Requests("insert.whole"), 1);
  EXPECT_EQ(Requests("get"), 0);
  EXPECT_EQ(Everything(), std::vector<std::string>{"out/a b/ä"});
  EXPECT_FALSE(std::filesystem::exists(spool / "s")) << "few bytes need no disk";
}

TEST_F(GcsStoreTest, ALargeObjectIsOneSessionFromTheSpool) {
  const auto store = Open();
  const std::string bytes = PatternBytes(9 << 20);
  {
    const auto writer = store->Create("big", Condition::CreateOnly());
    ASSERT_TRUE(writer.ok() && (*writer)->Append(bytes).ok());
    EXPECT_EQ(Requests("insert.start"), 0) << "before Commit";
    ASSERT_TRUE((*writer)->Commit().ok());
  }
  EXPECT_TRUE(Stored("big") == bytes);
  EXPECT_EQ(Requests("insert.start"), 1);
  EXPECT_EQ(Requests("insert.chunk"), 1);
  EXPECT_EQ(Requests("insert.query"), 0);
  EXPECT_EQ(Sessions(), "");
  struct stat found;
  ASSERT_EQ(stat((spool / "s/sessions").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(spool / "s"), {}), 1) << "the spool is empty";
}

TEST_F(GcsStoreTest, SendsNoChecksumThatItDidNotMake) {
  const auto store = Open();
  Write(*store, "big", PatternBytes(9 << 20));
  const std::vector<std::string> sent = fake.HeadersSent("x-goog-hash");
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], StrCat("crc32c=", FormatGcsCrc(Crc32c(PatternBytes(9 << 20)))));
}

TEST_F(GcsStoreTest, CopiesWithinABucketWithoutMovingBytes) {
  const auto store = Open();
  const std::string bytes = PatternBytes(3 << 20);
  Write(*store, "a", bytes);
  const auto file = store->Open("a");
  const auto writer = store->Create("b", Condition::CreateOnly());
  ASSERT_TRUE(file.ok() && writer.ok());
  ASSERT_TRUE((*writer)->AppendFile(**file, {}).ok());
  const Result<ObjectInfo> info = (*writer)->Commit();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->size, bytes.size());
  EXPECT_TRUE(Stored("b") == bytes);
  EXPECT_EQ(Requests("read"), 0);
  EXPECT_EQ(Requests("rewrite"), 1);
}

TEST_F(GcsStoreTest, ListsWhatHasANameHere) {
  const auto store = Open();
  for (const char* name : {"out/dir/", "out/a//b", "other", "out", "outside/x", "out/a"})
    fake.Put(kFakeBucket, name, "x");
  fake.Put(kFakeBucket, "out/" + NewTemporaryName("a"), "part");
  const auto objects = store->List("");
  ASSERT_TRUE(objects.ok()) << objects.status().message();
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ((*objects)[0].name, "a");
}

TEST_F(GcsStoreTest, ReplacesWhateverIsThereAlsoWhileOthersDo) {
  const auto store = Open();
  std::vector<std::thread> threads;
  for (char c = 'a'; c < 'e'; ++c)
    threads.emplace_back([&, c] {
      for (int i = 0; i < 5; ++i) Write(*store, "x", std::string(10, c), Condition::ReplaceAny());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stored("x").size(), 10u);
}

TEST_F(GcsStoreTest, AMissingBucketIsNoMissingObject) {
  const std::unique_ptr<Store> store = NewGcsStore(Client(Settings()), "absent", "", {spool / "s"});
  for (const Status& status :
       {store->Stat("a").status(), store->Open("a").status(), store->List("").status(), store->Remove("a"),
        WriteObject(*store, "a", "x", Condition::CreateOnly()).status()}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_EQ(status.message(),
              "gs://absent: no such bucket; make it with: gcloud storage buckets create gs://absent");
  }
}

TEST_F(GcsStoreTest, SaysWhoMayGrantWhatIsDenied) {
  FakeBucket bucket;
  bucket.forbidden = true;
  fake.objects().SetBucket(kFakeBucket, bucket);
  const Status denied = WriteObject(*Open(), "a", "x", Condition::CreateOnly()).status();
  EXPECT_EQ(denied.code(), Code::kPermissionDenied);
  EXPECT_EQ(denied.message().substr(0, 34), "gs://bucket/out/a: permission deni");
  EXPECT_NE(denied.message().find("gcloud storage buckets add-iam-policy-binding gs://bucket "),
            std::string::npos);
}

TEST_F(GcsStoreTest, AnAnonymousRequestThatIsRefusedSaysHowToSignIn) {
  fake.RequireToken([](std::string_view) { return true; });
  const Status refused = Open()->Stat("a").status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find("gcloud auth application-default login"), std::string::npos);
}

TEST_F(GcsStoreTest, GivesUpWithWordsThatHoldNoSecret) {
  for (int i = 0; i < 200; ++i) Fault("storage.objects.insert.chunk", "return-503");
  const Status failed = WriteObject(*Open(), "big", PatternBytes(9 << 20), Condition::CreateOnly()).status();
  EXPECT_EQ(failed.code(), Code::kUnavailable);
  EXPECT_NE(failed.message().find("gs://bucket/out/big: "), std::string::npos) << failed.message();
  EXPECT_EQ(failed.message().find("upload_id"), std::string::npos);
  EXPECT_EQ(failed.message().find("session-"), std::string::npos);
  EXPECT_EQ(Stored("big"), "absent");
  EXPECT_EQ(fake.uploads().open(), 0) << "the session was left open";
  EXPECT_EQ(Sessions(), "");
}

TEST_F(GcsStoreTest, ALargeLocalFileIsSentFromWhereItLies) {
  const std::string bytes = PatternBytes((9 << 20) + 5);
  const std::string path = spool / "file";
  const auto store = Open();
  const auto append = [&](std::string_view name) {
    WriteFile(path, bytes);
    auto writer = store->Create(name, Condition::CreateOnly()).value();
    EXPECT_TRUE(writer->AppendFile(*LocalFile::Open(path).value(), {}).ok());
    return writer;
  };
  {
    const auto writer = append("a");
    EXPECT_FALSE(std::filesystem::exists(spool / "s")) << "it was copied";
    std::filesystem::remove(path);
    fake.faults().Add("storage.objects.insert.chunk", "expire-session-410");
    const Result<ObjectInfo> info = writer->Commit();
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_TRUE(Stored("a") == bytes);
  }
  {
    const auto writer = append("more");
    EXPECT_TRUE(writer->Append("tail").ok());
    EXPECT_TRUE(writer->Commit().ok());
    EXPECT_TRUE(Stored("more") == bytes + "tail");
  }
  {
    const auto sent = fake.HeadersSent("content-range").size();
    ASSERT_TRUE(append("whole")->Commit().ok());
    const std::vector<std::string> ranges = fake.HeadersSent("content-range");
    EXPECT_EQ(std::vector<std::string>(ranges.begin() + static_cast<std::ptrdiff_t>(sent), ranges.end()),
              (std::vector<std::string>{"bytes 0-9437183/9437189", "bytes 9437184-9437188/9437189"}));
    EXPECT_TRUE(Stored("whole") == bytes);
  }
  const auto writer = append("edited");
  WriteFile(path, bytes + "edited");
  const Status edited = writer->Commit().status();
  EXPECT_EQ(edited.code(), Code::kDataLoss) << edited.message();
  EXPECT_NE(edited.message().find("changed while it was read"), std::string::npos) << edited.message();
  EXPECT_EQ(Stored("edited"), "absent");
}

TEST_F(GcsStoreTest, WhatWasLeftGoesOnInItsSession) {
  compose_above = 10 << 20;  // an object this large is one session all the same
  part_bytes = 2 << 20;
  const std::string bytes = PatternBytes(40 << 20);
  const std::string path = spool / "file";
  WriteFile(path, bytes);
  const auto remote = std::make_shared<MemoryFile>(bytes);
  const auto file = [&](std::string_view kind) -> std::unique_ptr<ByteFile> {
    if (kind == "local") return LocalFile::Open(path).value();
    const auto crc32c = kind == "bucket" ? std::optional(Crc32c(bytes)) : std::nullopt;
    return std::make_unique<VersionedFile>(remote, "https://host/f", "v1", crc32c);
  };
  for (const std::string kind : {"local", "web", "bucket"}) {
    const int begun = Requests("insert.start");
    {
      StoppedPause stopped;
      GcsSettings settings = Settings();
      settings.means.pause = &stopped;
      const auto writer = Open(settings)->Create(kind, Condition::CreateOnly()).value();
      ASSERT_TRUE(writer->AppendFile(*file(kind), {}).ok());
      Fault("storage.objects.insert.chunk", "return-503-after-30000K");
      EXPECT_EQ(writer->Commit().status().code(), Code::kCancelled);
    }
    const auto writer = Open()->Create(kind, Condition::CreateOnly()).value();
    ASSERT_TRUE(writer->AppendFile(*file(kind), {}).ok());
    const Result<ObjectInfo> info = writer->Commit();
    ASSERT_TRUE(info.ok()) << kind << ": " << info.status().message();
    EXPECT_TRUE(Stored(kind) == bytes) << kind;
    EXPECT_EQ(Requests("insert.start") - begun, 1) << kind;
  }
  EXPECT_EQ(Requests("compose"), 0);
  EXPECT_EQ(Sessions(), "");
}

TEST_F(GcsStoreTest, SweepEndsTheSessionsOfTheDead) {
  Write(*Open(), "before", PatternBytes(9 << 20));
  const auto session = std::make_shared<FakeSession>();
  const std::string id = fake.uploads().Add(session);
  const std::string uri =
      StrCat(fake.url(), "/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=", id);
  WriteFile(spool / "s/sessions", StrCat(".session.tmp.00000000-1-1 ", uri, "\ntorn"));
  EXPECT_TRUE(Open()->Sweep("").ok());
  EXPECT_EQ(session->gone, 499);
  EXPECT_EQ(Sessions(), "");
}

TEST_F(GcsStoreTest, UploadsOfTheDeadEndWhereverTheyWentAndNothingIsAskedIfThereAreNone) {
  StoreOptions options;
  options.spool = spool / "s";
  options.environment = [this](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "STORAGE_EMULATOR_HOST" ? std::optional(fake.url()) : std::nullopt;
  };
  EXPECT_TRUE(StoreOpener(options).EndLeftUploads().ok());
  EXPECT_FALSE(std::filesystem::exists(spool / "s"));
  fake.objects().SetBucket("other", {});
  const auto session = std::make_shared<FakeSession>();
  const std::string id = fake.uploads().Add(session);
  std::filesystem::create_directories(spool / "s");
  WriteFile(spool / "s/sessions",
            StrCat(".session.tmp.00000000-1-1 ", fake.url(),
                   "/upload/storage/v1/b/other/o?uploadType=resumable&upload_id=", id, "\n"));
  WriteFile(spool / "s/.object.spooled.tmp.00000000-1-2", "bytes");
  EXPECT_TRUE(StoreOpener(options).EndLeftUploads().ok());
  EXPECT_EQ(session->gone, 499);
  EXPECT_EQ(Sessions(), "");
  EXPECT_FALSE(std::filesystem::exists(spool / "s/.object.spooled.tmp.00000000-1-2"));
}

TEST_F(GcsStoreTest, SweepLeavesTheSessionsOfTheLiving) {
  UploadSessions sessions(spool / "s/sessions");
  const Result<std::string> id = sessions.Begin(Secret("http://127.0.0.1:1/secret"));
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_TRUE(Open()->Sweep("").ok());
  EXPECT_NE(Sessions().find("secret"), std::string::npos);
  EXPECT_TRUE(sessions.End(*id).ok());
  EXPECT_EQ(Sessions(), "");
}

// ------------------------------------------------------------------------------------- compose

TEST_F(GcsStoreTest, AVeryLargeObjectIsMadeOfPartsAndLeavesNone) {
  compose_above = 3 << 20;
  part_bytes = 1 << 20;
  const std::string bytes = PatternBytes((3 << 20) + 1);
  const ObjectInfo info = Write(*Open(), "dir/huge", bytes);
  EXPECT_EQ(info.crc32c, Crc32c(bytes));
  EXPECT_TRUE(Stored("dir/huge") == bytes);
  EXPECT_EQ(fake.objects().Find(kFakeBucket, "out/dir/huge")->component_count, 4);
  EXPECT_EQ(Everything(), std::vector<std::string>{"out/dir/huge"});
}

TEST_F(GcsStoreTest, TakesNoMorePartsThanAreAllowed) {
  compose_above = 1 << 20;
  part_bytes = 1024;
  const std::string bytes = PatternBytes((1 << 20) + 7);
  Write(*Open(), "huge", bytes);
  EXPECT_TRUE(Stored("huge") == bytes);
  EXPECT_EQ(fake.objects().Find(kFakeBucket, "out/huge")->component_count, 32);
}

TEST_F(GcsStoreTest, PartsAreGoneAlsoWhereItFails) {
  compose_above = 1 << 20;
  part_bytes = 512 << 10;
  const auto store = Open();
  Fault("storage.objects.compose", "return-403");
  EXPECT_EQ(WriteObject(*store, "huge", PatternBytes(2 << 20), Condition::CreateOnly()).status().code(),
            Code::kPermissionDenied);
  Fault("storage.objects.insert.whole", "return-403");
  EXPECT_FALSE(WriteObject(*store, "huge", PatternBytes(2 << 20), Condition::CreateOnly()).ok());
  Write(*store, "taken", "x");
  EXPECT_EQ(WriteObject(*store, "taken", PatternBytes(2 << 20), Condition::CreateOnly()).status().code(),
            Code::kAlreadyExists);
  EXPECT_EQ(Everything(), std::vector<std::string>{"out/taken"});
}

TEST_F(GcsStoreTest, ComposesUnderFaults) {
  compose_above = 1 << 20;
  part_bytes = 512 << 10;
  for (const char* word :
       {"return-503-after-300K", "return-503-after-commit", "return-0-after-commit", "return-429"})
    Fault("storage.objects.insert.whole", word);
  Fault("storage.objects.compose", "return-503-after-commit");
  Fault("storage.objects.delete", "return-503-after-commit");
  const std::string bytes = PatternBytes(3 << 20);
  Write(*Open(), "huge", bytes);
  EXPECT_TRUE(Stored("huge") == bytes);
  EXPECT_EQ(Everything(), std::vector<std::string>{"out/huge"});
  EXPECT_EQ(fake.objects().overwritten(), 0);
}

TEST_F(GcsStoreTest, MakesNoPartsWhereTheyCouldNotBeRemoved) {
  compose_above = 1 << 20;
  part_bytes = 512 << 10;
  FakeBucket bucket;
  for (const char* storage_class : {"NEARLINE", "STANDARD"}) {
    bucket.storage_class = storage_class;
    bucket.retention_seconds = bucket.storage_class == "STANDARD" ? 100 : 0;
    fake.objects().SetBucket(kFakeBucket, bucket);
    Write(*Open(), storage_class, PatternBytes(2 << 20));
  }
  EXPECT_EQ(Requests("compose"), 0);
}

TEST_F(GcsStoreTest, SweepRemovesThePartsOfTheDead) {
  const auto store = Open();
  fake.Put(kFakeBucket, "out/dir/.huge.tmp.00000000-1-1", "part");
  fake.Put(kFakeBucket, "out/.huge.tmp.00000000-1-2", "part");
  fake.Put(kFakeBucket, "outside/.huge.tmp.00000000-1-2", "part");
  const std::string living = "out/dir/" + NewTemporaryName("huge");
  fake.Put(kFakeBucket, living, "part");
  EXPECT_TRUE(store->Sweep("dir/hu").ok());
  EXPECT_EQ(Everything().size(), 3u);
  EXPECT_TRUE(store->Sweep("").ok());
  EXPECT_EQ(Everything(), (std::vector<std::string>{living, "outside/.huge.tmp.00000000-1-2"}));
}

TEST_F(GcsStoreTest, OpensByUri) {
  StoreOptions options;
  options.spool = spool / "s";
  options.environment = [this](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "STORAGE_EMULATOR_HOST" ? std::optional(fake.url()) : std::nullopt;
  };
  StoreOpener opener(options);
  const auto store = opener.Open("gs://bucket/some/where");
  ASSERT_TRUE(store.ok()) << store.status().message();
  Write(**store, "a", "bytes");
  EXPECT_EQ(Everything(), std::vector<std::string>{"some/where/a"});
}

TEST_F(GcsStoreTest, WhatIsPublicIsReadWithoutCredentials) {
  StoreOptions options;
  options.spool = spool / "s";
  options.environment = [this](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "NO_GCE_CHECK") return "true";
    return std::string_view(name) == "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE" ? std::optional(fake.url())
                                                                               : std::nullopt;
  };
  Write(*Open(), "a", "bytes");
  {
    const auto store = StoreOpener(options).Open("gs://bucket/out");
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_TRUE((*store)->Stat("a").ok());
  }
  // Another bucket is not public: its message names it, and what to do.
  fake.RequireToken([](std::string_view) { return true; });
  const auto store = StoreOpener(options).Open("gs://bucket/out");
  ASSERT_TRUE(store.ok()) << store.status().message();
  const Status refused = (*store)->Stat("a").status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.message().substr(0, 39), "gs://bucket/out/a: is not public, and t") << refused.message();
  EXPECT_NE(refused.message().find("GOOGLE_APPLICATION_CREDENTIALS"), std::string::npos);
}

TEST_F(GcsStoreTest, CredentialsThatAreNamedAndGoneAreNotPassedOver) {
  StoreOptions options;
  options.environment = [](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "GOOGLE_APPLICATION_CREDENTIALS"
               ? std::optional<std::string>("/none.json")
               : std::nullopt;
  };
  const Status none = StoreOpener(options).Open("gs://bucket/p").status();
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_EQ(none.message().substr(0, 46), "gs://bucket/p: GOOGLE_APPLICATION_CREDENTIALS:") << none.message();
}

}  // namespace
}  // namespace pipeline
