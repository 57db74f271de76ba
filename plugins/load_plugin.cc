#include "plugins/load_plugin.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "plugins/abi_plugin.h"
#include "plugins/native/build_id.h"
#include "plugins/native/entry.h"
#include "plugins/plugin_abi.h"

namespace pipeline {

namespace {

constexpr const char* kEntry = "pipe_plugin_entry";

/// The function at `symbol`, the one way from a data pointer to a function.
template <class Function>
Function FunctionAt(void* symbol) {
  Function function = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

Result<std::unique_ptr<const Plugin>> Opened(const std::string& path) {
  // dlopen searches other directories for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? StrCat("./", path) : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return Status(Code::kInvalidArgument,
                  StrCat("cannot be loaded: ", why != nullptr ? why : "no reason given"));
  }
  if (const auto* const build = static_cast<const char*>(dlsym(library, kNativeBuildSymbol))) {
    // The types that the two share are the same only in one build.
    if (std::string_view(build) != PIPE_BUILD_ID)
      return Status(Code::kInvalidArgument,
                    "belongs to another build of pipe; take the file that came with this program");
    std::unique_ptr<const Plugin> made;
    FunctionAt<NativePluginFunction>(dlsym(library, kNativePluginSymbol))(path, made);
    return made;
  }
  void* const symbol = dlsym(library, kEntry);
  if (symbol == nullptr)
    return Status(Code::kInvalidArgument,
                  StrCat("is no plugin of pipe: it does not export `", kEntry, "`; see plugins/ABI.md"));
  return AbiPluginOf(path, FunctionAt<pipe_plugin_entry_function>(symbol)());
}

}  // namespace

Result<std::shared_ptr<const Plugin>> LoadPlugin(const std::string& path) {
  Result<std::unique_ptr<const Plugin>> plugin = Opened(path);
  if (!plugin.ok()) return Status(Code::kInvalidArgument, StrCat(path, ": ", plugin.status().message()));
  return std::shared_ptr<const Plugin>(std::move(*plugin));
}

}  // namespace pipeline
