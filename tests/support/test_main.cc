#include <gtest/gtest.h>

#include "storage/remote/remote_schemes.h"

int main(int argc, char** argv) {
  pipeline::InstallSchemes();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
