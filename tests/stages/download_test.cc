#include "stages/download.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

Json Config(const std::vector<std::string>& urls) {
  Json config;
  config["url"] = Json::Array{};
  for (const std::string& url : urls) config["url"].Append(url);
  return config;
}

/// Names of the inputs, or the error.
std::vector<std::string> Names(const std::vector<std::string>& urls) {
  const auto inputs = DownloadType().local_inputs(Config(urls));
  if (!inputs.ok()) return {std::string(inputs.status().message())};
  std::vector<std::string> names;
  for (const LocalInput& input : *inputs) names.push_back(input.name);
  return names;
}

Status Failure(const std::string& url) { return DownloadType().local_inputs(Config({url})).status(); }

Status Check(const std::vector<std::string>& urls) {
  Schema schema;
  return DownloadType().check(Config(urls), schema);
}

TEST(DownloadTest, AFileIsReadWhereItLies) {
  const TempDir dir;
  WriteFile(dir / "ja.txt.xz", "x");
  const auto inputs = DownloadType().local_inputs(Config({dir / "ja.txt.xz"}));
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].path, dir / "ja.txt.xz");
  EXPECT_EQ((*inputs)[0].name, "ja.txt.xz");
}

TEST(DownloadTest, AFileUrlIsDecoded) {
  const TempDir dir;
  WriteFile(dir / "a b%.txt", "x");
  EXPECT_EQ(Names({"file://" + (dir / "a%20b%25.txt")}), std::vector<std::string>{"a b%.txt"});
}

TEST(DownloadTest, WildcardsAreReadInTheOrderOfNames) {
  const TempDir dir;
  for (const char* name : {"b.txt", "a.txt", "c.txt", "c.gz", ".d.txt", "猫.txt"}) WriteFile(dir / name, "x");
  EXPECT_EQ(Names({dir / "*.txt"}), (std::vector<std::string>{"a.txt", "b.txt", "c.txt", "猫.txt"}));
  EXPECT_EQ(Names({dir / "?.txt"}), (std::vector<std::string>{"a.txt", "b.txt", "c.txt", "猫.txt"}));
  EXPECT_EQ(Names({dir / "?.?z"}), std::vector<std::string>{"c.gz"});
  EXPECT_EQ(Names({dir / ".*.txt"}), std::vector<std::string>{".d.txt"});
  EXPECT_EQ(Names({dir / "c.gz", dir / "a*t"}), (std::vector<std::string>{"c.gz", "a.txt"}));
}

TEST(DownloadTest, WildcardsMayStandForDirectories) {
  const TempDir dir;
  for (const char* name : {"ja", "ko", "other"}) std::filesystem::create_directory(dir / name);
  WriteFile(dir / "ko/1.txt", "x");
  WriteFile(dir / "ja/1.txt", "x");
  WriteFile(dir / "ja/2.txt", "x");
  WriteFile(dir / "jx", "x");  // no directory: nothing lies in it
  EXPECT_EQ(Names({dir / "j?/*"}), (std::vector<std::string>{"1.txt", "2.txt"}));
  EXPECT_EQ(Names({dir / "*/1.txt"}), (std::vector<std::string>{"1.txt", "1.txt"}));
}

TEST(DownloadTest, AFileThatHasAWildcardInItsNameIsFound) {
  const TempDir dir;
  WriteFile(dir / "what?.txt", "x");
  WriteFile(dir / "whats.txt", "x");
  EXPECT_EQ(Names({dir / "what?.txt"}), std::vector<std::string>{"what?.txt"});
}

TEST(DownloadTest, AMissingFileSaysWhere) {
  const TempDir dir;
  EXPECT_EQ(Failure(dir / "no.txt").code(), Code::kNotFound);
  EXPECT_EQ(Failure(dir / "no.txt").message(),
            "download: " + (dir / "no.txt") +
                ": no such file; relative paths begin in the directory that pipe was started in");
  EXPECT_EQ(Failure(dir / "*.txt").code(), Code::kNotFound);
  EXPECT_EQ(Failure(dir / "none/*.txt").code(), Code::kNotFound);
}

TEST(DownloadTest, ADirectoryAndAPipeAreNoInputs) {
  const TempDir dir;
  EXPECT_EQ(Failure(dir.path().string()).code(), Code::kInvalidArgument);
  EXPECT_NE(Failure(dir.path().string()).message().find("is a directory"), std::string::npos);
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(Failure(dir / "fifo").code(), Code::kInvalidArgument);
}

TEST(DownloadTest, CheckRefusesWhatCannotBeAFile) {
  for (const char* url :
       {"s3://b/x", "ftp://user:secret@host/x", "https://", "http://host/", "gs://bucket"}) {
    EXPECT_EQ(Check({url}).code(), Code::kInvalidArgument) << url;
    EXPECT_EQ(Check({url}).message().find("secret"), std::string::npos) << Check({url}).message();
  }
  for (const char* url :
       {"https://data.statmt.org/cc-100/ja.txt.xz", "http://host/a?b=c", "gs://bucket/ja.txt.xz"})
    EXPECT_TRUE(Check({url}).ok()) << Check({url}).message();
  EXPECT_EQ(Check({"file://host/path"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Check({""}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Check({}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(Check({"no/such/file.txt", "file:///no/such", "odd/a://b"}).ok()) << "looks at no file";
}

}  // namespace
}  // namespace pipeline
