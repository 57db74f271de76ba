#include <gtest/gtest.h>

#include <string>

#include "formats/compression.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string Decode(std::string_view coding, std::string bytes, Status& status, std::size_t chunk = 1) {
  auto reader = NewContentDecoder(coding, std::make_unique<MemoryReader>(std::move(bytes), chunk));
  EXPECT_TRUE(reader.ok());
  return ReadAll(**reader, status, 7);
}

// "hello, hello\n" by zlib, and the same without its wrapper.
const std::string kZlib = "\x78\x9c\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x00\x51\x5c\x00\x21\x59\x04\x7f"s;
const std::string kBare = kZlib.substr(2, kZlib.size() - 6);
// RFC 7932: "hello world\n" in one block of its own.
const std::string kBrotli = "\x8b\x05\x80hello world\n\x03"s;

TEST(ContentCodingTest, UndoesWhatServersDo) {
  Status status;
  EXPECT_EQ(Decode("deflate", kZlib, status), "hello, hello\n") << status.message();
  EXPECT_EQ(Decode("deflate", kBare, status), "hello, hello\n") << status.message();
  EXPECT_EQ(Decode("br", kBrotli, status), "hello world\n") << status.message();
  EXPECT_EQ(Decode("br", "\x06", status), "") << status.message();
  EXPECT_EQ(Decode("gzip", GzipCompress("hello"), status), "hello") << status.message();
  EXPECT_EQ(Decode("zstd", ZstdCompress("hello"), status), "hello") << status.message();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ContentCodingTest, WhatEndsEarlyOrGoesOnIsDamaged) {
  for (const auto& [coding, bytes] : {std::pair{"deflate", kZlib}, {"deflate", kBare}, {"br", kBrotli}}) {
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      Status status;
      Decode(coding, bytes.substr(0, cut), status);
      EXPECT_EQ(status.code(), Code::kDataLoss) << coding << " cut to " << cut;
    }
    Status status;
    Decode(coding, bytes + "x", status);
    EXPECT_EQ(status.code(), Code::kDataLoss) << coding;
    Decode(coding, bytes + "x", status, 1000);
    EXPECT_EQ(status.code(), Code::kDataLoss) << coding;
  }
}

TEST(ContentCodingTest, AWrongSumIsDamage) {
  std::string wrong = kZlib;
  wrong.back() ^= 1;
  Status status;
  Decode("deflate", wrong, status);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("checksum differs"), std::string_view::npos) << status.message();
}

TEST(ContentCodingTest, AnyOtherIsRefusedByName) {
  for (const char* coding : {"compress", "identity", "", "x-gzip", "GZIP"})
    EXPECT_EQ(NewContentDecoder(coding, std::make_unique<MemoryReader>("")).status().code(),
              Code::kUnimplemented);
}

}  // namespace
}  // namespace pipeline
