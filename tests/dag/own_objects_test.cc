#include "dag/location/own_objects.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeline {
namespace {

std::vector<std::string> Own(const std::vector<std::string>& names) {
  std::vector<ObjectInfo> listed;
  for (const std::string& name : names) listed.emplace_back().name = name;
  std::vector<std::string> own;
  for (const ObjectInfo& object : OwnObjects(std::move(listed))) own.push_back(object.name);
  return own;
}

using Names = std::vector<std::string>;

TEST(OwnObjectsTest, DirectoriesOfTheArtifactAreItsOwn) {
  const Names names = {"MANIFEST.json", "a-00000-of-00002/dataset_spec.pb", "a/b/c", "z"};
  EXPECT_EQ(Own(names), names);
}

TEST(OwnObjectsTest, WhatTheProgramKeepsForItselfIsNoPart) {
  EXPECT_EQ(Own({".pipe/claim.json", ".pipe/log/1", "a"}), Names{"a"});
}

TEST(OwnObjectsTest, BelowAnotherPlaceNothingIs) {
  EXPECT_EQ(Own({"b/MANIFEST.json", "b/deep/x", "b/x", "ba/x", "c/d/.pipe/claim.json", "c/d/x", "c/x", "x"}),
            (Names{"ba/x", "c/x", "x"}));
}

TEST(OwnObjectsTest, NamesThatOnlyLookLikeSignsAreNone) {
  const Names names = {"b/XMANIFEST.json", "b/MANIFEST.json.old", "c.pipe/x", "d/e.pipe/x",
                       "x/MANIFEST.json/y"};
  EXPECT_EQ(Own(names), names);
}

}  // namespace
}  // namespace pipeline
