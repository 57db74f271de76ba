#include <gtest/gtest.h>

#include "storage/remote/http/http_text.h"

namespace pipeline {
namespace {

TEST(ContentTypeTest, TheEndOfTheLastPartTells) {
  EXPECT_EQ(ContentTypeOf("out/1.0.0/MANIFEST.json"), "application/json");
  EXPECT_EQ(ContentTypeOf("report.html"), "text/html; charset=utf-8");
  EXPECT_EQ(ContentTypeOf("a/b.txt"), "text/plain; charset=utf-8");
  EXPECT_EQ(ContentTypeOf("p.yaml"), "application/yaml");
  EXPECT_EQ(ContentTypeOf("corpus.txt.gz"), "application/gzip")
      << "as it is stored, not text that was packed";
}

TEST(ContentTypeTest, WhatTellsNothingIsBytes) {
  for (const char* name :
       {"", "a", "json", "d.json/a", ".json", "d/.txt", "x-train.tfrecord-00000-of-00001", "a.bin"})
    EXPECT_EQ(ContentTypeOf(name), "application/octet-stream") << name;
}

}  // namespace
}  // namespace pipeline
