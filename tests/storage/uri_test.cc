#include "storage/uri.h"

#include <gtest/gtest.h>

#include "storage/remote/open_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TEST(UriTest, TakesEachSchemeApart) {
  const Scheme* const file = FindScheme("file");
  const Scheme* const gs = FindScheme("gs");
  const Scheme* const http = FindScheme("http");
  const Scheme* const https = FindScheme("https");
  const struct {
    const char* text;
    Uri uri;
    const char* written;
  } cases[] = {
      {"a/b.xz", {file, "", "a/b.xz"}, "a/b.xz"},
      {"/a//b/", {file, "", "/a//b"}, "/a//b"},
      {"/", {file, "", "/"}, "/"},
      {"../x y%20", {file, "", "../x y%20"}, "../x y%20"},
      {"a:b/c", {file, "", "a:b/c"}, "a:b/c"},
      {"file:///a%20b%25", {file, "", "/a b%"}, "/a b%"},
      {"FILE://localhost/a", {file, "", "/a"}, "/a"},
      {"gs://bucket", {gs, "bucket", ""}, "gs://bucket"},
      {"gs://my-bucket_1.x/a/b%20c/", {gs, "my-bucket_1.x", "a/b%20c"}, "gs://my-bucket_1.x/a/b%20c"},
      {"https://h.org:8080/a/b.xz?x=1/2#f", {https, "h.org:8080", "/a/b.xz?x=1/2#f"}, nullptr},
      {"http://h", {http, "h", ""}, "http://h"},
  };
  for (const auto& test : cases) {
    const Result<Uri> uri = Uri::Parse(test.text);
    ASSERT_TRUE(uri.ok()) << uri.status().message();
    EXPECT_EQ(*uri, test.uri) << test.text;
    EXPECT_EQ(uri->ToString(), test.written ? test.written : test.text);
    EXPECT_EQ(*Uri::Parse(uri->ToString()), *uri) << test.text;
  }
}

TEST(UriTest, SaysWhatIsWrong) {
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "empty"},
      {std::string("a\0b", 3), "NUL"},
      {"s3://b/p", "s3://b/p: unknown scheme 's3'; use a path, file, gs, http or https"},
      {"gs:/b/p", "'//' is missing after 'gs:'"},
      {"file:a", "'//' is missing"},
      {"gs://", "names no bucket"},
      {"gs:///p", "names no bucket"},
      {"gs://Bucket/p", "cannot be a bucket"},
      {"gs://b/p", "cannot be a bucket"},
      {"gs://bucket/a//b", "empty part"},
      {"gs://bucket/../b", "part '..'"},
      {"file://host/p", "another machine"},
      {"file://", "relative path"},
      {"file:///a%2", "two hexadecimal digits"},
      {"file:///a%zz", "two hexadecimal digits"},
      {"file:///a%00", "NUL"},
      {"https://", "names no host"},
      {"https:///p", "names no host"},
      {"https://h?x", "'/' is missing"},
      {"https://h/a b", "space"},
      {"~/corpus", "'~' has no meaning"},
  };
  for (const auto& test : cases) {
    const Result<Uri> uri = Uri::Parse(test.text);
    ASSERT_FALSE(uri.ok()) << test.text;
    EXPECT_EQ(uri.status().code(), Code::kInvalidArgument);
    EXPECT_NE(uri.status().message().find(test.why), std::string_view::npos) << uri.status().message();
  }
}

TEST(UriTest, NoMessageHoldsASecretOfAnAddress) {
  for (const char* text :
       {"https://u:hush@h/a b?sig=hush", "https://u:hush@h?sig=hush", "htps://u:hush@h/?sig=hush"}) {
    const Result<Uri> uri = Uri::Parse(text);
    ASSERT_FALSE(uri.ok()) << text;
    EXPECT_EQ(uri.status().message().find("hush"), std::string_view::npos) << uri.status().message();
  }
}

TEST(UriTest, JoinsNames) {
  EXPECT_EQ(Uri::Parse("/")->Join("a/b").ToString(), "/a/b");
  EXPECT_EQ(Uri::Parse("out")->Join("a").ToString(), "out/a");
  EXPECT_EQ(Uri::Parse("gs://bucket")->Join("a").ToString(), "gs://bucket/a");
  EXPECT_EQ(Uri::Parse("gs://bucket/p/")->Join("a").ToString(), "gs://bucket/p/a");
}

TEST(UriTest, LastPartLeavesTheQueryOut) {
  EXPECT_EQ(Uri::Parse("https://h/a/ja.txt.xz?sig=a/b")->LastPart(), "ja.txt.xz");
  EXPECT_EQ(Uri::Parse("dir/what?.txt")->LastPart(), "what?.txt");
  EXPECT_EQ(Uri::Parse("gs://bucket")->LastPart(), "");
}

TEST(OpenStoreTest, OpensDirectories) {
  TempDir dir;
  for (const std::string& place : {dir / "a", "file://" + (dir / "b")}) {
    const auto store = OpenStore(place);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_TRUE(WriteObject(**store, "x", "1", {}).ok());
  }
  EXPECT_EQ(ReadFile(dir / "a/x"), "1");
  EXPECT_EQ(ReadFile(dir / "b/x"), "1");
}

TEST(OpenStoreTest, WebServersCanBeReadOnly) {
  const auto store = OpenStore("https://u:hush@h/p?hush");
  ASSERT_TRUE(store.ok()) << store.status().message();
  const Status written = WriteObject(**store, "x", "1", {}).status();
  EXPECT_EQ(written.code(), Code::kInvalidArgument);
  EXPECT_EQ(written.message(), "https://h/p/: cannot be written to; name a directory");
}

TEST(OpenStoreTest, RefusesWhatIsNoPlace) {
  EXPECT_EQ(OpenStore("").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace pipeline
