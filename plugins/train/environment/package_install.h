// Installs the packages of an environment by pip, and tells how far it is: CONTRACT.md, section 9.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

/// The bytes of an environment, as `sizes.txt` beside the requirements has them. All 0: unknown.
struct EnvironmentSizes {
  std::uint64_t downloaded = 0;
  std::uint64_t installed = 0;
};
EnvironmentSizes SizesOf(std::string_view extra);

/// Reads the output of `pip install --progress-bar raw`, and tells how far it is. Append is called from one
/// thread at a time.
class PipProgress {
 public:
  /// `all`: the bytes of all files; 0: unknown.
  using Tell = std::function<void(std::uint64_t done, std::uint64_t of, std::string_view text)>;
  PipProgress(std::uint64_t all, Tell tell) : all_(all), tell_(std::move(tell)) {}

  void Append(std::string_view bytes);

 private:
  void TakeLine(std::string_view line);
  void Say(std::uint64_t current);

  const std::uint64_t all_;
  const Tell tell_;
  std::string line_;        // the unfinished line
  std::string file_;        // the file that arrives
  std::uint64_t done_ = 0;  // bytes of the files before it
};

struct PackageInstall {
  std::string python;            // of the environment
  std::string requirements;      // a file with a digest for each wheel
  std::string wheels = {};       // a directory that has all wheels; empty: pip's index has them
  std::string cache = {};        // a directory for files that have arrived, if pip has none of its own
  std::string logs;              // the directory of setup.log and pip.log
  std::uint64_t downloaded = 0;  // bytes of all wheels; 0: unknown
  bool renews_pip = true;  // false: the pip of the Python installs them; an index of others may have no other
};

/// Installs the pip of this program's release, unless `renews_pip` is false, and the packages. kUnavailable:
/// pip failed.
Status InstallPackages(const PackageInstall& install, const PluginServices& call);

/// Fetches the wheels, and that of pip, into the directory `install.wheels`. `version`: of the Python that
/// they are for, such as 3.12; empty: `install.python`.
Status DownloadPackages(const PackageInstall& install, const std::string& version,
                        const PluginServices& call);

}  // namespace pipeline
