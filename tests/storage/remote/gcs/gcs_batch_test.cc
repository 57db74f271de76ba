#include "storage/remote/gcs/gcs_batch.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "tests/storage/remote/gcs/gcs_fixture.h"
#include "tests/storage/store_reading.h"

namespace pipeline {
namespace {

using Names = std::vector<std::string>;

class GcsBatchTest : public testing::Test, public GcsFixture {
 protected:
  std::vector<ObjectInfo> Write(Store& store, int count) {
    std::vector<ObjectInfo> objects;
    for (int at = 0; at < count; ++at) {
      Result<ObjectInfo> object =
          WriteObject(store, StrCat("done/a b/", 1000 + at), "bytes", Condition::CreateOnly());
      EXPECT_TRUE(object.ok()) << object.status().message();
      objects.push_back(*std::move(object));
    }
    return objects;
  }
  static Status RemoveAll(Store& store, const std::vector<ObjectInfo>& objects) {
    return store.RemoveAll(objects, [] { return true; });
  }
  void Fault(std::string_view operation, std::string_view word) {
    EXPECT_TRUE(fake.faults().Add(operation, word)) << word;
  }
  int Batches() { return fake.requests("storage.batch"); }
  int Requests(std::string_view operation) { return fake.requests(StrCat("storage.objects.", operation)); }
};

TEST_F(GcsBatchTest, AHundredKnownObjectsGoInOneRequest) {
  const auto store = Open();
  Write(*store, 250);
  ASSERT_TRUE(WriteObject(*store, "stays", "bytes", Condition::CreateOnly()).ok());
  std::size_t told = 0;
  const auto listed = store->List("done/");
  ASSERT_TRUE(store->RemoveAll(*listed, [&told] { return ++told > 0; }).ok());
  EXPECT_EQ(told, 250u);
  EXPECT_EQ(Everything(), Names{"out/stays"});
  EXPECT_EQ(Batches(), 3);
  EXPECT_EQ(Requests("delete") + Requests("get"), 0);
  ASSERT_TRUE(RemoveAll(*store, *listed).ok()) << "they are gone";
  EXPECT_EQ(Batches(), 6);
  EXPECT_EQ(Requests("delete") + Requests("get"), 0);
}

TEST_F(GcsBatchTest, AGroupThatHasBegunIsDealtWithAsAWhole) {
  const auto store = Open();
  const std::vector<ObjectInfo> objects = Write(*store, 130);
  std::size_t told = 0;
  ASSERT_TRUE(store->RemoveAll(objects, [&told] { return ++told > 1; }).ok());
  EXPECT_EQ(told, 100u);
  EXPECT_EQ(Everything().size(), 30u);
}

TEST_F(GcsBatchTest, OneKnownObjectIsOneRequestAndAnUnknownOneIsAskedFor) {
  const auto store = Open();
  const std::vector<ObjectInfo> objects = Write(*store, 3);
  ASSERT_TRUE(RemoveKnown(*store, objects[0]).ok());
  EXPECT_EQ(Requests("delete"), 1);
  EXPECT_EQ(Requests("get"), 0);
  ASSERT_TRUE(store->Remove(objects[1].name).ok());
  EXPECT_EQ(Requests("delete"), 2);
  EXPECT_EQ(Requests("get"), 1);
  ASSERT_TRUE(RemoveKnown(*store, ObjectInfo::Any(objects[2].name)).ok());
  EXPECT_EQ(Requests("get"), 2);
  EXPECT_EQ(Batches(), 0);
  EXPECT_EQ(Everything(), Names{});
}

TEST_F(GcsBatchTest, WhatWasReplacedStays) {
  const auto store = Open();
  const std::vector<ObjectInfo> objects = Write(*store, 3);
  ASSERT_TRUE(WriteObject(*store, objects[1].name, "newer", Condition::Replace(objects[1].version)).ok());
  ASSERT_TRUE(RemoveAll(*store, objects).ok());
  EXPECT_EQ(Everything(), Names{"out/" + objects[1].name});
  EXPECT_EQ(Batches(), 1);
  EXPECT_EQ(Requests("delete"), 0) << "the answer was final";
}

TEST_F(GcsBatchTest, APartThatFailedIsAskedForAgainAlone) {
  for (const char* word : {"return-503", "return-429", "return-408", "return-500", "return-reset-connection",
                           "return-503-after-commit", "return-0-after-commit"}) {
    const auto store = Open();
    const std::vector<ObjectInfo> objects = Write(*store, 5);
    Fault("storage.objects.delete", word);
    Fault("storage.objects.delete", word);
    const int batches = Batches(), alone = Requests("delete");
    EXPECT_TRUE(RemoveAll(*store, objects).ok()) << word;
    EXPECT_EQ(Everything(), Names{}) << word;
    EXPECT_EQ(Batches(), batches + 1) << word;
    EXPECT_EQ(Requests("delete"), alone + 2) << word;
  }
}

TEST_F(GcsBatchTest, ABatchThatFailsOrWhoseAnswerIsLostIsSentAgain) {
  for (const char* word : {"return-503", "return-429", "return-reset-connection", "return-503-after-commit",
                           "return-0-after-commit"}) {
    const auto store = Open();
    const std::vector<ObjectInfo> objects = Write(*store, 5);
    Fault("storage.batch", word);
    const int batches = Batches();
    EXPECT_TRUE(RemoveAll(*store, objects).ok()) << word;
    EXPECT_EQ(Everything(), Names{}) << word;
    EXPECT_EQ(Batches(), batches + 2) << word;
    EXPECT_EQ(Requests("delete"), 0) << word;
  }
}

TEST_F(GcsBatchTest, AnAnswerThatIsCutOffCountsForNothing) {
  const auto store = Open();
  const std::vector<ObjectInfo> objects = Write(*store, 5);
  Fault("storage.batch", "return-broken-stream");
  EXPECT_TRUE(RemoveAll(*store, objects).ok());
  EXPECT_EQ(Everything(), Names{});
  EXPECT_EQ(Batches(), 1);
  EXPECT_EQ(Requests("delete"), 5);
}

TEST_F(GcsBatchTest, AServerWithoutBatchesIsNotAskedAgain) {
  for (const char* word : {"return-404", "return-405", "return-501"}) {
    const auto store = Open();
    Fault("storage.batch", word);
    const int batches = Batches(), alone = Requests("delete");
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_TRUE(RemoveAll(*store, Write(*store, 5)).ok()) << word;
      EXPECT_EQ(Everything(), Names{}) << word;
    }
    EXPECT_EQ(Batches(), batches + 1) << word;
    EXPECT_EQ(Requests("delete"), alone + 10) << word;
    EXPECT_EQ(Requests("get"), 0) << "the generations are known";
  }
}

TEST_F(GcsBatchTest, ARefusedBatchSaysNothingAboutTheNext) {
  const auto store = Open();
  Fault("storage.batch", "return-400");
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(RemoveAll(*store, Write(*store, 5)).ok());
  EXPECT_EQ(Batches(), 2);
  EXPECT_EQ(Requests("delete"), 5);
}

TEST_F(GcsBatchTest, WhatIsDeniedAndAMissingBucketAreToldAsOfASingleRequest) {
  const auto store = Open();
  const std::vector<ObjectInfo> objects = Write(*store, 3);
  FakeBucket bucket;
  bucket.denied = {"storage.objects.delete"};
  fake.objects().SetBucket(kFakeBucket, bucket);
  const Status denied = RemoveAll(*store, objects);
  EXPECT_EQ(denied.code(), Code::kPermissionDenied);
  EXPECT_NE(denied.message().find("gs://bucket/out/done/a b/1000: permission denied"), std::string::npos);
  const auto elsewhere =
      NewGcsStore(Client(Settings()), "no-such-bucket", "out", GcsWriterOptions{.spool = spool / "s"});
  const Status missing = RemoveAll(*elsewhere, objects);
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(missing.message().find("gcloud storage buckets create"), std::string::npos);
}

TEST_F(GcsBatchTest, EachPartNamesTheProjectThatPays) {
  FakeBucket bucket;
  bucket.requester_pays = true;
  fake.objects().SetBucket(kFakeBucket, bucket);
  GcsSettings settings = Settings();
  settings.user_project = "payer";
  const auto store = Open(settings);
  const std::vector<ObjectInfo> objects = Write(*store, 3);
  EXPECT_EQ(RemoveAll(*Open(), objects).code(), Code::kInvalidArgument);
  EXPECT_EQ(Everything().size(), 3u);
  const int alone = Requests("delete");
  EXPECT_TRUE(RemoveAll(*store, objects).ok());
  EXPECT_EQ(Everything(), Names{});
  EXPECT_EQ(Requests("delete"), alone);
}

TEST_F(GcsBatchTest, AKnownObjectIsReadInOneRequest) {
  const auto store = Open();
  Write(*store, 2);
  const std::vector<ObjectInfo> listed = store->List("").value();
  EXPECT_EQ(ReadObject(*store, listed[0], 100).value(), "bytes");
  EXPECT_EQ(Requests("read"), 1);
  EXPECT_EQ(Requests("get"), 0);
  Fault("storage.objects.read", "return-corrupted-data");
  EXPECT_EQ(ReadObject(*store, listed[1], 100).value(), "bytes") << "the checksum of the listing is compared";
  EXPECT_EQ(Requests("read"), 3);
}

TEST_F(GcsBatchTest, ACopyOfAKnownObjectHasItsDescription) {
  const auto store = Open();
  Json given;
  given["contentType"] = "text/plain";
  given["contentEncoding"] = "gzip";
  fake.Put(kFakeBucket, "out/source", "bytes", given);
  const ObjectInfo source = store->List("source").value().front();
  const auto copy = [&]() -> Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> file, store->OpenKnown(source));
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                     store->Create("copy", Condition::CreateOnly()));
    RETURN_IF_ERROR(writer->AppendFile(*file, {}));
    return writer->Commit().status();
  };
  ASSERT_TRUE(copy().ok());
  const std::optional<FakeObject> made = fake.objects().Find(kFakeBucket, "out/copy");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->Given("contentType"), "text/plain");
  EXPECT_EQ(made->Given("contentEncoding"), "gzip");
  EXPECT_EQ(Requests("read"), 0);
  fake.Put(kFakeBucket, "out/source", "other", given);
  ASSERT_TRUE(store->Remove("copy").ok());
  EXPECT_EQ(copy().code(), Code::kDataLoss);
  EXPECT_EQ(Stored("copy"), "absent");
}

TEST(GcsBatchFormTest, ABatchIsWrittenAsTheApiWantsIt) {
  const std::vector<std::string> urls = {"/storage/v1/b/b/o/a%2Fb?ifGenerationMatch=7",
                                         "/storage/v1/b/b/o/c"};
  const GcsBatch batch = EncodeGcsRemovals(urls);
  EXPECT_EQ(batch.content_type, "multipart/mixed; boundary=pipe-batch");
  EXPECT_EQ(batch.body,
            "--pipe-batch\r\nContent-Type: application/http\r\nContent-ID: <pipe-0>\r\n\r\n"
            "DELETE /storage/v1/b/b/o/a%2Fb?ifGenerationMatch=7 HTTP/1.1\r\n\r\n\r\n"
            "--pipe-batch\r\nContent-Type: application/http\r\nContent-ID: <pipe-1>\r\n\r\n"
            "DELETE /storage/v1/b/b/o/c HTTP/1.1\r\n\r\n\r\n"
            "--pipe-batch--\r\n");
}

/// An answer with one part: these lines of its header, and this response.
std::string Answer(std::string_view about, std::string_view response) {
  return StrCat("--x\r\n", about, "\r\n\r\n", response, "\r\n--x--\r\n");
}

TEST(GcsBatchFormTest, AnswersAreFoundByTheirNumbers) {
  const std::string http = "Content-Type: application/http\r\nContent-ID: <response-pipe-";
  const std::string body = StrCat(
      "--x\r\n", http, "2>\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n\r\n--x\r\n", http,
      "0>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n",
      R"({"error":{"message":"The specified bucket does not exist.","errors":[{"reason":"notFound"}]}})",
      "\r\n--x--\r\n");
  for (const char* type :
       {"multipart/mixed; boundary=x", "Multipart/Mixed; charset=a; boundary=\"x\"; b=c"}) {
    const auto answers = ParseGcsBatch(type, body, 3);
    ASSERT_TRUE(answers.ok()) << type;
    ASSERT_EQ(answers->size(), 3u);
    EXPECT_TRUE((*answers)[0] && IsMissingBucket(*(*answers)[0]));
    EXPECT_EQ((*answers)[0]->status, 404);
    EXPECT_EQ((*answers)[0]->reason, "notFound");
    EXPECT_FALSE((*answers)[1]);
    EXPECT_EQ((*answers)[2]->status, 204);
  }
}

TEST(GcsBatchFormTest, WhatIsNoAnswerIsRefused) {
  const std::string type = "multipart/mixed; boundary=x";
  const std::string about = "Content-Type: application/http\r\nContent-ID: <response-pipe-1>";
  const std::string good = Answer(about, "HTTP/1.1 204 No Content\r\n\r\n");
  ASSERT_TRUE(ParseGcsBatch(type, good, 2).ok());
  EXPECT_FALSE(ParseGcsBatch("text/html", good, 2).ok());
  EXPECT_FALSE(ParseGcsBatch("multipart/mixed", good, 2).ok());
  EXPECT_FALSE(ParseGcsBatch("multipart/mixed; boundary=y", good, 2).ok());
  EXPECT_FALSE(ParseGcsBatch(type, good, 1).ok()) << "there is no such request";
  EXPECT_FALSE(ParseGcsBatch(type, good.substr(0, good.size() - 5), 2).ok()) << "it is cut off";
  EXPECT_FALSE(ParseGcsBatch(type, good.substr(0, good.rfind("--x--")) + good, 2).ok()) << "twice";
  for (const char* wrong : {"Content-Type: application/http", "Content-ID: <response-pipe-1>",
                            "Content-Type: application/http\r\nContent-ID: <pipe-1>",
                            "Content-Type: application/http\r\nContent-ID: <response-pipe-01>",
                            "Content-Type: application/http\r\nContent-ID: <response-pipe-1",
                            "Content-Type: text/html\r\nContent-ID: <response-pipe-1>", "no header"})
    EXPECT_FALSE(ParseGcsBatch(type, Answer(wrong, "HTTP/1.1 204 No Content\r\n\r\n"), 2).ok()) << wrong;
  for (const char* wrong : {"", "204", "HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 2040 OK", "HTTP/1.1 -04 OK",
                            "HTTP/1.1 099 OK", "HTTP/1.1 204 OK\r\nno header\r\n"})
    EXPECT_FALSE(ParseGcsBatch(type, Answer(about, wrong), 2).ok()) << wrong;
  EXPECT_TRUE(ParseGcsBatch(type, "--x--\r\n", 2).ok()) << "no request is answered";
  EXPECT_FALSE(ParseGcsBatch(type, "", 2).ok());
}

}  // namespace
}  // namespace pipeline
