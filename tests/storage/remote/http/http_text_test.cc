#include "storage/remote/http/http_text.h"

#include <gtest/gtest.h>

#include "storage/percent.h"
#include "storage/uri.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(HttpTextTest, TakesHeaderLinesApart) {
  const auto line = ParseHeaderLine("Content-Type: \t text/html ; x=\"a: b\" \r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name, "content-type");
  EXPECT_EQ(line->value, "text/html ; x=\"a: b\"");
  EXPECT_EQ(ParseHeaderLine("X:")->value, "");
  for (const char* bad : {"", ":", ": x", "no colon", " folded: x", "a b: c", "a\tb: c", "\xe3\x81\x82: c"})
    EXPECT_FALSE(ParseHeaderLine(bad)) << bad;
}

TEST(HttpTextTest, SendsNoLineEndInAHeader) {
  EXPECT_TRUE(CanBeSent("If-Range", "\"tag\""));
  EXPECT_TRUE(CanBeSent("X", ""));
  for (const char* bad : {"a\nb", "a\rb"}) EXPECT_FALSE(CanBeSent("X", bad));
  EXPECT_FALSE(CanBeSent("X", std::string_view("a\0b", 3)));
  for (const char* bad : {"", "X:", "X Y", "X\n"}) EXPECT_FALSE(CanBeSent(bad, "v")) << bad;
}

TEST(HttpTextTest, ReadsContentRanges) {
  const auto whole = ParseContentRange("bytes 5-9/10");
  ASSERT_TRUE(whole && whole->span);
  EXPECT_EQ(whole->span->first, 5u);
  EXPECT_EQ(whole->span->last, 9u);
  EXPECT_EQ(whole->size, 10u);
  EXPECT_EQ(ParseContentRange("bytes 0-0/*")->size, std::nullopt);
  EXPECT_FALSE(ParseContentRange("BYTES */18446744073709551615")->span);
  for (const char* bad :
       {"", "bytes", "bytes ", "bytes 0-9", "bytes 0-9/", "bytes 9-0/10", "bytes 0-10/10", "bytes */*",
        "bytes -5/10", "bytes 0-/10", "bytes 0-9/x", "lines 0-9/10", "bytes +1-9/10",
        "bytes 0-18446744073709551616/*", "0-9/10", "bytes 0-9/10/11", "bytes 0--9/10"})
    EXPECT_FALSE(ParseContentRange(bad)) << bad;
}

TEST(HttpTextTest, ReadsDatesInTheirThreeForms) {
  for (const char* date : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994", "  sun, 6 nov 1994 08:49:37 GMT "})
    EXPECT_EQ(ParseHttpDate(date), 784111777) << date;
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(ParseHttpDate("Tue, 29 Feb 2028 23:59:60 GMT"), 1835481600);
  EXPECT_EQ(ParseHttpDate("Thursday, 01-Jan-37 00:00:00 GMT"), 2114380800);
  for (const char* bad :
       {"", "now", "Sun, 06 Nov 1994", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nvo 1994 08:49:37 GMT",
        "Sun, 06 Nov 99999999999 08:49:37 GMT", "Sun, 06 Nov 1894 08:49:37 GMT", ","})
    EXPECT_FALSE(ParseHttpDate(bad)) << bad;
  EXPECT_EQ(ParseTimestamp("2026-12-01T00:00:10.123456Z"), 1'796'083'210);
  EXPECT_EQ(ParseTimestamp("2026-12-01T00:00:10Z"), 1'796'083'210);
  for (const char* bad :
       {"", "Z", "2026-12-01T00:00:10", "2026-13-01T00:00:10Z", "2026-12-01T25:00:10Z", "2026-12-01"})
    EXPECT_FALSE(ParseTimestamp(bad)) << bad;
}

TEST(HttpTextTest, ReadsHowLongAServerWantsToBeLeftAlone) {
  constexpr std::int64_t kNow = 784111777'000;
  EXPECT_EQ(ParseRetryAfter("120", kNow), seconds(120));
  EXPECT_EQ(ParseRetryAfter(" 0 ", kNow), seconds(0));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:50:37 GMT", kNow), seconds(60));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:50:37 GMT", kNow + 500), milliseconds(59'500));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 1994 08:00:00 GMT", kNow), seconds(0))
      << "our clock goes fast, or its slow";
  EXPECT_EQ(ParseRetryAfter("18446744073709551615", kNow), std::chrono::hours(24));
  EXPECT_EQ(ParseRetryAfter("Sun, 06 Nov 2094 08:50:37 GMT", kNow), std::chrono::hours(24));
  for (const char* bad : {"", "-1", "1.5", "soon", "0x10"}) EXPECT_FALSE(ParseRetryAfter(bad, kNow)) << bad;
}

TEST(HttpTextTest, KnowsStrongTags) {
  for (const char* strong : {"\"\"", "\"abc\"", "\"a-b:c\""}) EXPECT_TRUE(IsStrongTag(strong)) << strong;
  for (const char* weak : {"", "\"", "abc", "W/\"abc\"", "\"abc", "\"a\"b\""})
    EXPECT_FALSE(IsStrongTag(weak)) << weak;
}

TEST(HttpTextTest, MediaTypesAndNamesInAddresses) {
  EXPECT_EQ(MediaType(" Text/HTML; charset=utf-8"), "text/html");
  EXPECT_EQ(MediaType(""), "");
  EXPECT_EQ(PercentEncode("aZ0-._~/ %\xff\n?#&", "/"), "aZ0-._~/%20%25%FF%0A%3F%23%26");
  EXPECT_EQ(PercentEncode("a/b"), "a%2Fb");
}

TEST(HttpTextTest, ShowsAddressesWithoutTheirSecrets) {
  const struct {
    const char* url;
    const char* shown;
  } cases[] = {{"https://h.org/a/b.xz", "https://h.org/a/b.xz"},
               {"https://h.org:8080/a@b?sig=hush#hush", "https://h.org:8080/a@b"},
               {"https://u:hush@h.org/a", "https://h.org/a"},
               {"https://hush@u@[::1]:80/a", "https://[::1]:80/a"},
               {"https://[::1]/a", "https://[::1]/a"},
               {"https://u:hush/x@h.org/a", "https://…/x@h.org/a"},
               {"https://u:hu?sh@h.org/a", "https://…"},
               {"https://h?hush", "https://h"},
               {"h\n/p", "h?/p"},
               {"", ""}};
  for (const auto& test : cases) EXPECT_EQ(ShownUrl(test.url), test.shown);
}

TEST(ContentCoding, IsWhatWasDoneOnTheWay) {
  EXPECT_EQ(ContentCoding({}, "https://h/f"), "");
  EXPECT_EQ(ContentCoding({"identity", ""}, "https://h/f"), "");
  EXPECT_EQ(ContentCoding({" GZip "}, "https://h/f.txt"), "gzip");
  EXPECT_EQ(ContentCoding({"x-gzip"}, "https://h/f.txt?name=a.gz"), "gzip");
  EXPECT_EQ(ContentCoding({"br, gzip", "zstd"}, "https://h/f"), "br, gzip, zstd");
  EXPECT_EQ(ContentCoding({"\"; x"}, "https://h/f"), "an invalid name");
}

TEST(ContentCoding, WhatTheNameEndsInBelongsToTheFile) {
  EXPECT_EQ(ContentCoding({"gzip"}, "https://h/f.GZ?query"), "");
  EXPECT_EQ(ContentCoding({"gzip"}, "https://h/f.tgz"), "");
  EXPECT_EQ(ContentCoding({"gzip"}, "https://h/f.xz"), "gzip");
  EXPECT_EQ(ContentCoding({"gzip, br"}, "https://h/f.gz"), "br");
  EXPECT_EQ(ContentCoding({"gzip, gzip"}, "https://h/f.gz"), "gzip");
  EXPECT_EQ(ContentCoding({"br, gzip"}, "https://h/f.gz"), "br, gzip");
}

}  // namespace
}  // namespace pipeline
