#include "dag/pipeline_file/typed_id.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace pipeline {
namespace {

using AppleId = TypedId<struct Apple>;
using PearId = TypedId<struct Pear>;

static_assert(!std::is_convertible_v<AppleId, PearId> && !std::is_constructible_v<AppleId, PearId>);
static_assert(!std::is_convertible_v<int, AppleId> && !std::is_convertible_v<AppleId, int>);

TEST(TypedIdTest, AnIdFindsItsElement) {
  IdVector<AppleId, std::unique_ptr<std::string>> apples;
  const AppleId red = apples.push_back(std::make_unique<std::string>("red"));
  const AppleId green = apples.push_back(std::make_unique<std::string>("green"));
  EXPECT_EQ(*apples[red], "red");
  EXPECT_EQ(*apples[green], "green");
  EXPECT_EQ(apples.ids(), (std::vector<AppleId>{red, green}));
  EXPECT_LT(red, green);
}

TEST(TypedIdTest, FlagsCanBeSetById) {
  IdVector<PearId, bool> ripe(3, false);
  ripe[PearId(1)] = true;
  std::vector<PearId> found;
  for (const PearId pear : ripe.ids())
    if (ripe[pear]) found.push_back(pear);
  EXPECT_EQ(found, std::vector<PearId>{PearId(1)});
}

}  // namespace
}  // namespace pipeline
