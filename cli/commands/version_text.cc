#include <array>
#include <map>
#include <vector>

#include "base/enumeration.h"
#include "base/form_version.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/commands/commit.h"
#include "cli/report/run_record.h"
#include "dag/books/manifest.h"
#include "dag/books/run_log_line.h"
#include "dag/package/versioned_json.h"
#include "dag/package/work_results.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/stage_type.h"
#include "formats/archive_reader.h"
#include "formats/partition_file.h"
#include "formats/spill_file.h"
#include "formats/xz.h"
#include "formats/zstd_frame.h"
#include "plugins/plugin_abi.h"
#include "stages/all/builtin.h"
#include "storage/remote/http/http_address.h"

namespace pipeline {

namespace {

/// Each by the constant that its writer uses.
constexpr std::array<FormVersion, 8> kForms = {{
    {"pipeline file", kFileVersion},
    {"manifest", kManifestVersion},
    {"run log", kRunLogVersion},
    {"run record", kRunRecordVersion},
    {"partition file", kPartitionKind.version},
    {"spill file", kSpillKind.version},
    {"work package", kPackageFormVersion},
    {"work result", kWorkResultVersion},
}};

std::string List(const std::map<std::string, std::string>& versions) {
  std::vector<std::string> parts;
  for (const auto& [name, version] : versions) parts.push_back(StrCat(name, " ", version));
  return Join(parts, ", ");
}

std::string Forms() {
  std::vector<std::string> parts;
  const auto add = [&parts](const FormVersion& form) {
    if (!form.name.empty()) parts.push_back(StrCat(form.name, " ", form.newest));
  };
  for (const FormVersion& form : kForms) add(form);
  for (const ExportFormat& format : ExportFormats()) add(format.form);
  return Join(parts, ", ");
}

}  // namespace

std::string VersionText() {
  const Registry registry = BuiltinStages();
  std::map<std::string, std::string> of_recipes;  // several stages use the same ones
  for (const StageType& type : registry.types()) {
    Json config;  // that of a stage with no keys
    for (const ConfigKey& key : type.keys) config[key.name] = key.fallback;
    of_recipes.merge(type.LibrariesOf(config));
  }
  const std::map<std::string, std::string> others = {{"libarchive", ArchiveLibraryVersion()},
                                                     {"libcurl", HttpLibraryVersion()},
                                                     {"liblzma", XzLibraryVersion()},
                                                     {"zstd", ZstdLibraryVersion()}};
  return StrCat("pipe ", PIPE_VERSION, "\ncommit ", PIPE_COMMIT, "\nplugin ABI ", PIPE_ABI_MAJOR, ".",
                PIPE_ABI_MINOR, "\nlibraries in recipes: ", List(of_recipes),
                "\nother libraries: ", List(others), "\nformats: ", Forms());
}

}  // namespace pipeline
