// The kinds of the built-in stages, and what stands on their edges.
#include <gtest/gtest.h>

#include "stages/all/builtin.h"

namespace pipeline {
namespace {

TEST(StageKindsTest, EdgesFitTheKind) {
  const Registry registry = BuiltinStages();
  for (const StageType& type : registry.types()) {
    EXPECT_EQ(type.gives == Flow::kFiles, type.file_list() != nullptr) << type.name;
    EXPECT_EQ(type.takes == Flow::kFiles, type.source() != nullptr) << type.name;
    EXPECT_EQ(type.gives == Flow::kArtifact, type.publishes()) << type.name;
  }
}

}  // namespace
}  // namespace pipeline
