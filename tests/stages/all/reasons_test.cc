// What stages count: every name in their sources is one that a type declares.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "stages/all/builtin.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

/// In a call that counts, or as the name of a reason for which a record goes.
std::set<std::string> CountedIn(const std::string& source) {
  std::set<std::string> names;
  const std::regex counted(R"re((?:\.Add\(|[^.\w]add\(|[^.\w]count\(|"(?=dropped_))"?([a-z][a-z0-9_]*)")re");
  for (std::sregex_iterator at(source.begin(), source.end(), counted), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

TEST(ReasonsTest, EveryNameInTheSourcesIsDeclared) {
  const Registry registry = BuiltinStages({});
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourceDir() + "/stages")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".cc") || file.starts_with("verify_") || file.ends_with("_export.cc"))
      continue;  // findings
    for (const std::string& name : CountedIn(ReadFile(entry.path()))) {
      if (name == "dropped_") continue;  // the beginning of several
      ++seen;
      bool declared = false;
      for (const StageType& type : registry.types())
        declared = declared || FindReason(type.reasons, name) != nullptr;
      EXPECT_TRUE(declared) << entry.path().filename() << " counts '" << name << "', which no type declares";
    }
  }
  EXPECT_GT(seen, 40u);  // or the expression above finds nothing
}

TEST(ReasonsTest, OnlyWhatIsCountedHasReasons) {
  const Registry registry = BuiltinStages({});
  for (const StageType& type : registry.types()) {
    std::set<std::string> names;
    for (const Reason& reason : type.reasons) {
      EXPECT_TRUE(names.insert(reason.name).second) << type.name << " declares " << reason.name << " twice";
      EXPECT_TRUE(reason.help.ends_with('.')) << type.name << ": " << reason.name;
      if (reason.name.starts_with("dropped_")) {
        EXPECT_EQ(reason.fate, Reason::Fate::kDropped) << reason.name;
      }
    }
    if (type.job() != nullptr || type.file_list() != nullptr) {
      EXPECT_TRUE(names.empty()) << type.name;
    }
  }
}

}  // namespace
}  // namespace pipeline
