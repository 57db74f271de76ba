// The entry of a plugin that is built together with this program. Its library exports these two symbols and
// shares C++ types with the program, so the program calls it only if both have the same build id.
#pragma once

#include <memory>
#include <string>

#include "plugins/native/plugin.h"

#define PIPE_NATIVE_EXPORT __attribute__((visibility("default")))

/// PIPE_BUILD_ID of plugins/native/build_id.h, which the build makes. NUL-terminated.
extern "C" PIPE_NATIVE_EXPORT const char pipe_native_build[];
inline constexpr const char* kNativeBuildSymbol = "pipe_native_build";

/// Makes the plugin. `path`: of its library.
extern "C" PIPE_NATIVE_EXPORT void pipe_native_plugin(const std::string& path,
                                                      std::unique_ptr<const pipeline::Plugin>& made);
inline constexpr const char* kNativePluginSymbol = "pipe_native_plugin";
using NativePluginFunction = void (*)(const std::string&, std::unique_ptr<const pipeline::Plugin>&);
