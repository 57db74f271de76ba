#include "storage/remote/gcs/gcs_object.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "storage/percent.h"

namespace pipeline {
namespace {

TEST(GcsObjectTest, ReadsAResource) {
  const Result<GcsObject> object = ParseGcsObject(
      R"({"name":"dir/a","size":"18446744073709551615","generation":"1700000000000001","crc32c":"yZRlqg==",)"
      R"("contentEncoding":"gzip","metadata":{"pipe-upload":"mark"},"new":[1]})");
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->name, "dir/a");
  EXPECT_EQ(object->size, 18446744073709551615u);
  EXPECT_EQ(object->generation, "1700000000000001");
  EXPECT_EQ(object->crc32c, 0xc99465aau);
  EXPECT_EQ(object->content_encoding, "gzip");
  EXPECT_EQ(object->upload, "mark");
}

TEST(GcsObjectTest, AChecksumThatIsNoneIsAbsent) {
  for (const char* crc : {"\"\"", "\"yZRl\"", "\"yZRlqq==\"", "7", "null"}) {
    const auto object =
        ParseGcsObject(std::string(R"({"name":"a","size":"1","generation":"1","crc32c":)") + crc + "}");
    ASSERT_TRUE(object.ok()) << crc;
    EXPECT_FALSE(object->crc32c.has_value()) << crc;
  }
}

TEST(GcsObjectTest, WhatIsNoObjectMayBeAskedForAgain) {
  for (const char* text :
       {"", "<html>", "[]", "{}", R"({"name":"a","size":1,"generation":"1"})",
        R"({"name":"a","size":"-1","generation":"1"})", R"({"name":"a","size":"1"})",
        R"({"name":"","size":"1","generation":"1"})", R"({"name":"a","size":"1","generation":"x"})"})
    EXPECT_EQ(ParseGcsObject(text).status().code(), Code::kUnavailable) << text;
  EXPECT_EQ(ParseGcsPage("<html>").status().code(), Code::kUnavailable);
  EXPECT_EQ(ParseGcsPage(R"({"items":[{}]})").status().code(), Code::kUnavailable);
}

TEST(GcsObjectTest, AnEmptyPageIsAPage) {
  const Result<GcsPage> page = ParseGcsPage(R"({"kind":"storage#objects","nextPageToken":"t"})");
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->objects.empty());
  EXPECT_EQ(page->next, "t");
}

TEST(GcsObjectTest, AnErrorIsOneLineWhateverWasSent) {
  const GcsError error = ParseGcsError(
      403, R"({"error":{"code":403,"message":"no\nway\u0007","errors":[{"reason":"rateLimitExceeded"}]}})");
  EXPECT_EQ(error.message, "no way ");
  EXPECT_EQ(error.reason, "rateLimitExceeded");
  EXPECT_EQ(ParseGcsError(502, "<html>Bad Gateway</html>").message, "");
  EXPECT_LE(ParseGcsError(400, R"({"error":{"message":")" + std::string(5000, 'x') + "\"}}").message.size(),
            300u);
}

TEST(GcsObjectTest, WritesChecksumsAsTheyAreRead) {
  EXPECT_EQ(FormatGcsCrc(0xc99465aau), "yZRlqg==");
  EXPECT_EQ(FormatGcsCrc(Crc32c("")), "AAAAAA==");
}

TEST(GcsObjectTest, KnowsWhichNamesABucketTakes) {
  for (const char* name : {"a", "dir/あ", "\xf0\x9f\x98\x80", "a b?#%"})
    EXPECT_TRUE(CheckGcsName(name).ok()) << name;
  for (const char* name : {"", "a\nb", "a\rb", "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "a\xe3\x81", ".well-known/acme-challenge/x"})
    EXPECT_EQ(CheckGcsName(name).code(), Code::kInvalidArgument) << name;
}

TEST(PercentTest, FormsAreEncodedAndTextIsDecoded) {
  EXPECT_EQ(FormText({{"a b", "c&d"}, {"e", ""}}), "a%20b=c%26d&e=");
  EXPECT_EQ(PercentDecode("a%2Fb%e3"), "a/b\xe3");
  EXPECT_FALSE(PercentDecode("%").has_value());
  EXPECT_FALSE(PercentDecode("%4x").has_value());
}

}  // namespace
}  // namespace pipeline
