// Plugins built out of tree, with the header alone, as their authors build them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/child_process.h"
#include "base/str.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

inline std::string PluginSource(std::string_view name) {
  return ReadFile(StrCat(SourceDir(), "/plugins/", name));
}

/// Compiles `source` in `directory`, where nothing of ours is but plugin_abi.h, to pipe_NAME.so there.
inline std::string CompilePlugin(const TempDir& directory, std::string_view name, std::string_view source) {
  WriteFile(directory / "plugin_abi.h", PluginSource("plugin_abi.h"));
  const std::string text = directory / StrCat(name, ".c");
  const std::string library = directory / StrCat("pipe_", name, ".so");
  WriteFile(text, source);
  auto compiler =
      ChildProcess::Start({.argv = {CCompiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic",
                                    "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, text}});
  if (!compiler.ok()) {
    ADD_FAILURE() << compiler.status().message();
    return library;
  }
  const Result<ChildExit> exit = (*compiler)->Wait({}, std::chrono::seconds(1));
  EXPECT_TRUE(exit.ok() && exit->ok()) << (*compiler)->StderrTail();
  return library;
}

/// A plugin called `name` that describes itself by `json`, with `more` in front of its struct.
inline std::string SmallPlugin(std::string_view name, std::string_view json, std::string_view more = {},
                               std::string_view major = "PIPE_ABI_MAJOR") {
  std::string quoted;
  for (const char c : json) quoted += c == '"' || c == '\\' ? StrCat('\\', c) : std::string(1, c);
  return StrCat(
      "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include \"plugin_abi.h\"\n", more,
      "\nstatic pipe_code describe(const pipe_call* call) {\n  static const char text[] = \"", quoted,
      "\";\n  pipe_text json;\n  json.data = text;\n  json.size = sizeof text - 1;\n"
      "  call->reply(call->ctx, json);\n  return PIPE_OK;\n}\n"
      "static pipe_code run(const pipe_call* call, pipe_text request) {\n  (void)call;\n  (void)request;\n"
      "  return PIPE_INTERNAL;\n}\n"
      "const pipe_plugin* pipe_plugin_entry(void) {\n  static const pipe_plugin plugin = {\n"
      "      sizeof(pipe_plugin), ",
      major, ", 0, 0, \"", name, "\", \"1\", describe, 0, 0, run, 0};\n  return &plugin;\n}\n");
}

}  // namespace pipeline
