// Finds or brings the Python that an environment is made with: CONTRACT.md, section 9.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plugins/native/services.h"

namespace pipeline {

struct PythonChoice {
  enum class From : std::uint8_t { kHere, kArchive, kUv };
  From from = From::kHere;
  std::string program;  // a path, or a name in PATH; of kArchive: the archive; of kUv: empty
  std::string version;  // "3.11"

  /// In the words of a message.
  std::string Describe() const;
};

/// `named` is one of these:
/// * the path of an interpreter, or its name in PATH;
/// * a version such as "3.12": python3.12 in PATH, else one that `uv python install` will fetch;
/// * the path of an archive of CPython, a .tar.gz;
/// * empty: the first of python3, python3.13, python3.12 and python3.11 that the requirements support and
/// that
///   can create environments.
/// `again` is the command that a person gives anew, with `--python` behind it; empty: there is none, so an
/// installed Python alone helps. Downloads and unpacks nothing.
/// kFailedPrecondition: there is none, and the message names those found and one command that helps; or the
/// archive is another one than this program's release has.
Result<PythonChoice> ChoosePython(const std::string& named, std::string_view again,
                                  const PluginServices& call);

/// The path of the interpreter, brought to `directory`/python if it is not here yet.
Result<std::string> BringPython(const PythonChoice& choice, const std::string& directory,
                                const PluginServices& call);

}  // namespace pipeline
