#include "plugins/loader.h"

#include <gtest/gtest.h>

#include "tests/plugins/compiled_plugin.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

PluginLoader LoaderOf(const TempDir& directory) {
  PluginPlaces places;
  places.directories = {directory / "none", directory.path().string()};
  places.probe = {BuiltProgram(), "__probe-plugin"};
  return PluginLoader(std::move(places));
}

void ExpectRefused(const Result<std::shared_ptr<const Plugin>>& loaded, Code code,
                   std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(CodeName(loaded.status().code()), CodeName(code));
  for (const std::string_view part : parts)
    EXPECT_NE(loaded.status().message().find(part), std::string_view::npos) << loaded.status().message();
}

TEST(PluginLoaderTest, HelloBuiltOutOfTreeIsFoundByNameAndByPath) {
  const TempDir directory;
  const std::string path = CompilePlugin(directory, "hello", PluginSource("hello/hello.c"));
  PluginLoader loader = LoaderOf(directory);
  const auto plugin = loader.Load("hello");
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_EQ((*plugin)->name(), "hello");
  EXPECT_EQ((*plugin)->version(), "1.0.0");
  EXPECT_EQ((*plugin)->path(), path);
  const StageType* const greet = (*plugin)->description().Find("hello", "greet");
  ASSERT_NE(greet, nullptr);
  EXPECT_EQ(greet->name, "hello.greet");
  ASSERT_EQ((*plugin)->description().commands.size(), 1u);
  EXPECT_EQ((*plugin)->description().commands[0].name, "hello");
  const auto again = loader.Load(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->get(), plugin->get());
  EXPECT_EQ(loader.List(), std::vector<std::string>{path});
}

TEST(PluginLoaderTest, WhatIsNotThereIsNotFoundAndSaysWhereItWasLookedFor) {
  const TempDir directory;
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("nobody"), Code::kNotFound,
                {"pipe_nobody.so", directory.path().string(), "PIPE_PLUGINS"});
  ExpectRefused(loader.Load("./nowhere/x.so"), Code::kNotFound, {"./nowhere/x.so"});
  ExpectRefused(loader.Load("No Name"), Code::kInvalidArgument, {"'No Name'"});
}

TEST(PluginLoaderTest, FileThatIsNoLibraryIsRefused) {
  const TempDir directory;
  WriteFile(directory / "pipe_text.so", "this is no library\n");
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("text"), Code::kInvalidArgument, {"pipe_text.so: cannot be loaded"});
}

TEST(PluginLoaderTest, AnotherMajorVersionIsRefusedWithBothNumbers) {
  const TempDir directory;
  CompilePlugin(directory, "future", SmallPlugin("future", "{}", "", "7"));
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("future"), Code::kInvalidArgument,
                {"pipe_future.so", "speaks version 7", "this program speaks version 1"});
}

TEST(PluginLoaderTest, MissingSymbolIsNamed) {
  const TempDir directory;
  CompilePlugin(directory, "empty",
                "int pipe_plugin_entri(void);\nint pipe_plugin_entri(void) { return 0; }\n");
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("empty"), Code::kInvalidArgument,
                {"pipe_empty.so", "does not export `pipe_plugin_entry`"});
}

constexpr std::string_view kDiesAtLoad =
    "__attribute__((constructor)) static void die(void) {\n  signal(SIGSEGV, SIG_DFL);\n  "
    "raise(SIGSEGV);\n}\n";

TEST(PluginLoaderTest, CrashAtLoadIsSurvivedAndSaid) {
  const TempDir directory;
  CompilePlugin(directory, "crash", SmallPlugin("crash", "{}", kDiesAtLoad));
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("crash"), Code::kInvalidArgument,
                {"pipe_crash.so crashed while loading (signal 11)"});
}

TEST(PluginLoaderTest, AbortAndExitAtLoadAreSaid) {
  const TempDir directory;
  CompilePlugin(
      directory, "aborts",
      SmallPlugin("aborts", "{}", "__attribute__((constructor)) static void die(void) { abort(); }\n"));
  CompilePlugin(
      directory, "exits",
      SmallPlugin("exits", "{}", "__attribute__((constructor)) static void die(void) { _exit(3); }\n"));
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("aborts"), Code::kInvalidArgument, {"crashed while loading (signal 6)"});
  ExpectRefused(loader.Load("exits"), Code::kInvalidArgument,
                {"ended the program while loading (exit code 3)"});
}

TEST(PluginLoaderTest, HangAtLoadEnds) {
  const TempDir directory;
  CompilePlugin(directory, "hangs",
                SmallPlugin("hangs", "{}",
                            "__attribute__((constructor)) static void wait(void) { for (;;) pause(); }\n"));
  PluginPlaces places;
  places.directories = {directory.path().string()};
  places.probe = {BuiltProgram(), "__probe-plugin"};
  places.probe_timeout = std::chrono::milliseconds(300);
  PluginLoader loader(std::move(places));
  ExpectRefused(loader.Load("hangs"), Code::kInvalidArgument, {"pipe_hangs.so hangs"});
}

TEST(PluginLoaderTest, BadDescriptionsAreRefusedWithThePlace) {
  const TempDir directory;
  CompilePlugin(directory, "torn", SmallPlugin("torn", "{\"stages\": ["));
  CompilePlugin(directory, "wrong",
                SmallPlugin("wrong", "{\"stages\": [{\"name\": \"x\", \"version\": 0}]}"));
  CompilePlugin(directory, "command",
                SmallPlugin("command", "{\"commands\": [{\"name\": \"x\", \"help\": \"y\"}]}"));
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("torn"), Code::kInvalidArgument, {"the reply of `describe`", "is not JSON"});
  ExpectRefused(loader.Load("wrong"), Code::kInvalidArgument,
                {"the reply of `describe`", "stages[0].version"});
  ExpectRefused(loader.Load("command"), Code::kInvalidArgument,
                {"has commands, and no extension pipe.commands/1"});
}

TEST(PluginLoaderTest, OlderAndTooSmallStructsAreToldApart) {
  const TempDir directory;
  std::string older = SmallPlugin("older", "{}");
  const auto replace = [](std::string& text, std::string_view what, std::string_view by) {
    text.replace(text.find(what), what.size(), by);
  };
  // As if `extension` had not been there yet.
  replace(older, "sizeof(pipe_plugin)", "(uint32_t)offsetof(pipe_plugin, extension)");
  CompilePlugin(directory, "older", older);
  std::string small = SmallPlugin("small", "{}");
  replace(small, "sizeof(pipe_plugin)", "16");
  CompilePlugin(directory, "small", small);
  PluginLoader loader = LoaderOf(directory);
  const auto plugin = loader.Load("older");
  EXPECT_TRUE(plugin.ok()) << plugin.status().message();
  ExpectRefused(loader.Load("small"), Code::kInvalidArgument,
                {"its pipe_plugin has 16 bytes", "struct_size"});
}

TEST(PluginLoaderTest, FileMustBeNamedAsThePluginIs) {
  const TempDir directory;
  CompilePlugin(directory, "alias", SmallPlugin("real", "{}"));
  PluginLoader loader = LoaderOf(directory);
  ExpectRefused(loader.Load("alias"), Code::kInvalidArgument, {"calls itself 'real'", "pipe_real.so"});
}

}  // namespace
}  // namespace pipeline
