#include "plugins/train/environment/package_install.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/environment/setup_step.h"
#include "plugins/train/environment/trainer_environment.h"

namespace pipeline {

namespace {

/// `EXTRA DOWNLOADED INSTALLED` in each line. tests/trainer/locks.py compares it with the index.
constexpr const char* kSizes = "/sizes.txt";
/// The pip that shows its progress and resumes a file. An environment begins with the pip of its Python.
constexpr const char* kPip = "/installer.txt";
constexpr const char* kResumptions = "20";
constexpr std::size_t kMostLine = 4096;

std::string PipRequirements() { return BundledDirectory() + kPip; }

std::vector<std::string> Words(const PackageInstall& install, const char* command) {
  std::vector<std::string> words = {install.python,
                                    "-m",
                                    "pip",
                                    command,
                                    "--disable-pip-version-check",
                                    "--no-input",
                                    "--only-binary=:all:",
                                    "--require-hashes",
                                    "--no-deps"};
  if (!install.cache.empty()) words.insert(words.end(), {"--cache-dir", install.cache});
  return words;
}

std::string SetupLog(const PackageInstall& install) { return install.logs + "/setup.log"; }

void Add(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

/// True if `line` is `BEFORE rest`.
bool Cut(std::string_view& line, std::string_view before) {
  if (!line.starts_with(before)) return false;
  line.remove_prefix(before.size());
  return true;
}

/// "jaxlib-0.10.2-….whl (93.1 MB)" has 93100000 bytes, as pip counts; 0: unknown.
std::uint64_t BytesIn(std::string_view words) {
  const std::size_t open = words.rfind('(');
  if (open == std::string_view::npos) return 0;
  double number = 0;
  std::string unit;
  std::istringstream(std::string(words.substr(open + 1))) >> number >> unit;
  const double bytes = unit.starts_with("MB")   ? 1e6
                       : unit.starts_with("kB") ? 1e3
                       : unit.starts_with("GB") ? 1e9
                                                : 1;
  return number > 0 && number < 1e12 ? static_cast<std::uint64_t>(number * bytes) : 0;
}

/// "jaxlib-0.10.2-….whl (93.1 MB)" is jaxlib 0.10.2; an older index has the whole address there.
std::string FileIn(std::string_view words) {
  std::string_view file = words.substr(0, words.find(' '));
  file.remove_prefix(file.rfind('/') + 1);
  const std::size_t version = file.find('-');
  if (version == std::string_view::npos) return std::string(file);
  const std::size_t end = file.find('-', version + 1);
  return StrCat(file.substr(0, version), " ", file.substr(version + 1, end - version - 1));
}

/// Installs the pip of the release with these words. That of an older Python tells no progress.
Status RenewPip(const PackageInstall& install, const std::vector<std::string>& source,
                const PluginServices& call) {
  std::vector<std::string> pip = Words(install, "install");
  pip.insert(pip.end(), source.begin(), source.end());
  Add(pip, {"-r", PipRequirements()});
  return RunStep({.name = "pip install pip", .argv = std::move(pip), .log = install.logs + "/pip.log"}, call);
}

/// Runs the pip of the release, and tells its progress.
Status RunNewPip(const PackageInstall& install, const std::string& name, std::vector<std::string> packages,
                 const PluginServices& call) {
  PipProgress progress(install.downloaded, [&](std::uint64_t done, std::uint64_t of, std::string_view text) {
    call.Progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of), text);
  });
  Add(packages, {"--progress-bar", "raw", "--resume-retries", kResumptions, "-r", install.requirements});
  const Status status = RunStep({.name = name,
                                 .argv = std::move(packages),
                                 .log = SetupLog(install),
                                 .output = [&progress](std::string_view bytes) { progress.Append(bytes); }},
                                call);
  call.Progress(0, 0, "");  // ends the line of the progress
  return status;
}

}  // namespace

EnvironmentSizes SizesOf(std::string_view extra) {
  const Result<std::string> text = ReadWholeFile(BundledDirectory() + kSizes);
  std::istringstream lines(text.ok() ? *text : std::string());
  std::string name;
  EnvironmentSizes sizes;
  while (lines >> name >> sizes.downloaded >> sizes.installed)
    if (name == extra) return sizes;
  return {};
}

void PipProgress::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\n\r");
    if (line_.size() < kMostLine) line_ += bytes.substr(0, std::min(end, kMostLine));
    if (end == std::string_view::npos) return;
    TakeLine(line_);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void PipProgress::TakeLine(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (Cut(line, "Progress ")) {
    std::uint64_t here = 0, of = 0;
    std::string word;
    std::istringstream words{std::string(line)};
    if (!(words >> here >> word >> of)) return;
    Say(here);
    if (here == of) done_ += of;
  } else if (Cut(line, "Downloading ")) {
    file_ = FileIn(line);
    Say(0);
  } else if (Cut(line, "Using cached ")) {
    done_ += BytesIn(line);
  } else if (line.starts_with("Installing collected packages")) {
    tell_(0, 0, "installing the packages");
  }
}

void PipProgress::Say(std::uint64_t current) {
  const std::uint64_t done = done_ + current;
  // Wheels for another Python have another size.
  const std::uint64_t of = all_ == 0 ? 0 : std::max(all_, done + 1);
  tell_(done, of,
        StrCat("downloading ", file_, ": ", HumanBytes(done), of == 0 ? "" : " of " + HumanBytes(of)));
}

Status InstallPackages(const PackageInstall& install, const PluginServices& call) {
  const std::string name = "pip install";
  std::vector<std::string> source, packages = Words(install, "install");
  if (!install.wheels.empty()) source = {"--no-index", "--find-links", install.wheels};
  packages.insert(packages.end(), source.begin(), source.end());
  if (!install.renews_pip) {
    Add(packages, {"-r", install.requirements});
    return RunStep({.name = name, .argv = std::move(packages), .log = SetupLog(install)}, call);
  }
  RETURN_IF_ERROR(RenewPip(install, source, call));
  return RunNewPip(install, name, std::move(packages), call);
}

Status DownloadPackages(const PackageInstall& install, const std::string& version,
                        const PluginServices& call) {
  std::vector<std::string> packages = Words(install, "download");
  if (!version.empty()) Add(packages, {"--python-version", version});
  Add(packages, {"--dest", install.wheels, "-r", PipRequirements()});
  RETURN_IF_ERROR(RenewPip(install, {}, call));
  return RunNewPip(install, "pip download", std::move(packages), call);
}

}  // namespace pipeline
