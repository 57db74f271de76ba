#include "storage/remote/http/environment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

EnvironmentLookup With(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(CaFileTest, IsWhatIsNamedThenWhatADistributionHasThenNone) {
  TempDir root;
  EXPECT_EQ(FindCaFile(With({}), root.path().string()), "");
  for (const char* file : {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"}) {
    const std::string path = root.path().string() + file;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, "certificates");
    EXPECT_EQ(FindCaFile(With({}), root.path().string()), path);
  }
  EXPECT_EQ(FindCaFile(With({{"SSL_CERT_FILE", "/mine"}}), root.path().string()), "/mine");
  EXPECT_EQ(
      FindCaFile(With({{"SSL_CERT_FILE", "/mine"}, {"CURL_CA_BUNDLE", "/curls"}}), root.path().string()),
      "/curls");
}

}  // namespace
}  // namespace pipeline
