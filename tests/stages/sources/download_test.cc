#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "stages/sources/source_stages.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

Json DownloadConfig(const std::vector<std::string>& urls) {
  Json config;
  config["url"] = Json::Array{};
  for (const std::string& url : urls) config["url"].Append(url);
  return config;
}

/// Names of the inputs, or the error.
std::vector<std::string> Names(const std::vector<std::string>& urls) {
  const auto inputs = DownloadType().file_list()->local_inputs(DownloadConfig(urls));
  if (!inputs.ok()) return {std::string(inputs.status().message())};
  std::vector<std::string> names;
  for (const LocalInput& input : *inputs) names.push_back(input.name);
  return names;
}

Status Failure(const std::string& url) {
  return DownloadType().file_list()->local_inputs(DownloadConfig({url})).status();
}

Status Check(const std::vector<std::string>& urls) {
  Schema schema;
  return DownloadType().check(DownloadConfig(urls), schema);
}

TEST(DownloadTest, AFileIsReadWhereItLies) {
  const TempDir dir;
  WriteFile(dir / "ja.txt.xz", "x");
  const auto inputs = DownloadType().file_list()->local_inputs(DownloadConfig({dir / "ja.txt.xz"}));
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

// ---------------------------------------------------------------------------- checksums and mirrors

constexpr const char* kSum = "crc32c:e3069283";

struct Keys {
  std::vector<std::string> url, checksum = {}, mirrors = {};
  Json Config() const {
    Json config;
    const auto put = [&](const char* key, const std::vector<std::string>& texts) {
      if (texts.empty()) return;
      config[key] = Json::Array{};
      for (const std::string& text : texts) config[key].Append(text);
    };
    put("url", url), put("checksum", checksum), put("mirrors", mirrors);
    return config;
  }
  /// What check finds, else what the inputs are refused for.
  Status Refusal() const {
    Schema schema;
    Status checked = DownloadType().check(Config(), schema);
    return checked.ok() ? DownloadType().file_list()->local_inputs(Config()).status() : checked;
  }
};

TEST(DownloadTest, EachFileMayHaveAChecksum) {
  const TempDir dir;
  WriteFile(dir / "a.txt", "x");
  const Keys keys{.url = {"https://host/a", dir / "a.txt", "gs://bucket/b"},
                  .checksum = {"crc32c:E3069283", kSum, "none"}};
  EXPECT_TRUE(keys.Refusal().ok()) << keys.Refusal().message();
  const auto inputs = DownloadType().file_list()->local_inputs(keys.Config());
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ((*inputs)[0].checksum, kSum);
  EXPECT_EQ((*inputs)[1].checksum, kSum);
  EXPECT_EQ((*inputs)[2].checksum, "");
}

TEST(DownloadTest, ChecksumsThatCannotBeAreRefused) {
  const TempDir dir;
  for (const char* name : {"a.txt", "b.txt"}) WriteFile(dir / name, "x");
  EXPECT_EQ((Keys{.url = {"a", "b"}, .checksum = {kSum}}).Refusal().message(),
            "checksum: 1 for 2 in `url`; write one for each, `none` where it is not known");
  EXPECT_NE(
      (Keys{.url = {"https://host/a"}, .checksum = {"sha1:00"}}).Refusal().message().find("no checksum"),
      std::string::npos);
  EXPECT_NE((Keys{.url = {dir / "*.txt"}, .checksum = {kSum}}).Refusal().message().find("stands for 2 files"),
            std::string::npos);
  EXPECT_TRUE((Keys{.url = {dir / "a*.txt"}, .checksum = {kSum}}).Refusal().ok());
}

TEST(DownloadTest, AMirrorIsAFileOrADirectoryOfAllFiles) {
  const auto mirrors = [](const std::string& url, const std::string& mirror) {
    const Keys keys{.url = {url}, .checksum = {kSum}, .mirrors = {mirror}};
    EXPECT_TRUE(keys.Refusal().ok()) << keys.Refusal().message();
    const auto inputs = DownloadType().file_list()->local_inputs(keys.Config());
    return inputs.ok() ? inputs->at(0).mirrors : std::vector<std::string>();
  };
  EXPECT_EQ(mirrors("https://host/a", "http://other/b"), std::vector<std::string>{"http://other/b"});
  EXPECT_EQ(mirrors("https://host/a%20b?key=1", "https://other/dir/"),
            std::vector<std::string>{"https://other/dir/a%20b"});
  EXPECT_EQ(mirrors("https://host/a%20b", "gs://bucket/dir/"),
            std::vector<std::string>{"gs://bucket/dir/a b"});
  EXPECT_EQ(mirrors("gs://bucket/a b", "https://other/dir/"),
            std::vector<std::string>{"https://other/dir/a%20b"});
}

TEST(DownloadTest, MirrorsThatCannotBeAreRefused) {
  const struct {
    Keys keys;
    const char* words;
  } cases[] = {
      {{.url = {"https://host/a"}, .mirrors = {"https://other/a"}}, "has no checksum"},
      {{.url = {"https://host/a", "https://host/b"}, .checksum = {kSum, "none"}, .mirrors = {"https://o/"}},
       "https://host/b has no checksum"},
      {{.url = {"a.txt"}, .checksum = {kSum}, .mirrors = {"https://other/a"}}, "is read where it lies"},
      {{.url = {"https://host/a"}, .checksum = {kSum}, .mirrors = {"/dir/"}}, "knows https, http and gs"},
      {{.url = {"https://host/a", "https://host/b"}, .checksum = {kSum, kSum}, .mirrors = {"https://o/a"}},
       "is one file for 2"},
      {{.url = {"https://host/a"}, .checksum = {kSum}, .mirrors = {"https://other"}}, "names no file"},
  };
  for (const auto& test : cases) {
    const Status refusal = test.keys.Refusal();
    EXPECT_EQ(refusal.code(), Code::kInvalidArgument) << test.words;
    EXPECT_NE(refusal.message().find(test.words), std::string::npos) << refusal.message();
  }
}

TEST(DownloadTest, EachSchemeIsNamed) {
  EXPECT_EQ(Failure("ftp://host/x").message(),
            "url: ftp://host/x: this program knows https, http, gs and file, and paths");
  const StageType type = DownloadType();
  const auto help = [&](std::string_view name) {
    const auto key = std::find_if(type.keys.begin(), type.keys.end(),
                                  [&](const ConfigKey& candidate) { return candidate.name == name; });
    return key == type.keys.end() ? std::string_view() : key->help;
  };
  EXPECT_EQ(help("url"),
            "Paths, or https://, http://, gs:// and file:// URLs; in paths and gs:// URLs, * and ? stand for "
            "any name and are read in the order of the names.");
  EXPECT_EQ(help("connections"),
            "Transfers from one server at once, the parts of one file included; by default 4 from gs://, 1 "
            "elsewhere.");
}

TEST(DownloadTest, APatternInABucketIsLeftToWhoCanAsk) {
  const auto inputs =
      DownloadType().file_list()->local_inputs(DownloadConfig({"gs://bucket/*.txt", "https://host/*.txt"}));
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  EXPECT_TRUE((*inputs)[0].is_pattern);
  EXPECT_FALSE((*inputs)[1].is_pattern) << "nobody lists what a web server has";
}

TEST(DownloadTest, ConnectionsAndRateHaveBounds) {
  Schema schema;
  for (const std::int64_t bad : {0, -1, 33}) {
    Json config = DownloadConfig({"https://host/a"});
    config["connections"] = bad;
    EXPECT_EQ(DownloadType().check(config, schema).code(), Code::kInvalidArgument) << bad;
  }
  Json config = DownloadConfig({"https://host/a"});
  config["connections"] = std::int64_t{8};
  config["rate"] = std::int64_t{20'000'000};
  EXPECT_TRUE(DownloadType().check(config, schema).ok());
  EXPECT_EQ(DownloadType().file_list()->local_inputs(config)->at(0).connections, 8);
  EXPECT_EQ(DownloadType().file_list()->local_inputs(config)->at(0).rate, 20'000'000u);
  config["rate"] = std::int64_t{0};
  EXPECT_EQ(DownloadType().check(config, schema).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
