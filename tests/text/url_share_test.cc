#include "text/url_share.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

TEST(UrlShareTest, CountsTheCharactersOfUrls) {
  const std::pair<std::string, std::size_t> cases[] = {
      {"", 0},
      {"URLのない文。a://b", 0},
      {"https://example.com/aを参照", 21},
      {"HTTP://A.jp", 11},
      {"ftp://a ftps://b", 7},
      {"(www.a.jp)", 9},  // a bracket may be part of one
      {"awww.a.jp", 0},
      {"猫www.a.jp犬", 8},
      {"http://www.a.jp/?q=%E7&b=1#c", 28},
      {"http:// www. 「http://」", 0},  // nothing behind it
      {"http://a http://b　www.c", 8 + 8 + 5},
      {"http://http://a", 15},  // one
      {"xhttp://a", 8},
      {"://http://a", 8},
      {"www.www.www.a", 13},
  };
  for (const auto& [text, count] : cases) EXPECT_EQ(CountUrlCharacters(text), count) << text;
}

}  // namespace
}  // namespace pipeline
