#include "plugins/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/typed_value.h"
#include "plugins/plugin_abi.h"
#include "plugins/plugin_call.h"

namespace pipeline {

namespace {

constexpr const char* kEntry = "pipe_plugin_entry";
constexpr std::size_t kSmallestStruct = offsetof(pipe_plugin, run) + sizeof(pipe_plugin::run);

std::string Major(std::uint32_t major) { return StrCat("version ", major, " of the plugin ABI"); }

pipe_text TextOf(std::string_view text) { return {text.data(), text.size()}; }

/// A text from the plugin, which may be missing.
std::string Named(const char* text) { return text != nullptr ? std::string(text) : std::string(); }

using RequestFunction = pipe_code (*)(const pipe_call*, pipe_text);

Result<Json> Ask(RequestFunction function, const Json& request, const PluginServices& services) {
  if (function == nullptr) return Json();
  PluginCall call(services);
  const std::string text = request.Dump();
  RETURN_IF_ERROR(call.Outcome(function(call.abi(), TextOf(text))));
  if (call.answer().empty()) return Json();
  Result<Json> json = Json::Parse(call.answer());
  if (!json.ok()) return Status(Code::kInternal, StrCat("its answer is not JSON: ", json.status().message()));
  return json;
}

}  // namespace

Plugin::Plugin(std::string path) : path_(std::move(path)) {}

Result<std::shared_ptr<const Plugin>> Plugin::Load(const std::string& path) {
  const auto fail = [&path](std::string_view why) {
    return Status(Code::kInvalidArgument, StrCat(path, ": ", why));
  };
  // dlopen searches other directories for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? StrCat("./", path) : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return fail(StrCat("cannot be loaded: ", why != nullptr ? why : "no reason given"));
  }
  void* const symbol = dlsym(library, kEntry);
  if (symbol == nullptr)
    return fail(StrCat("is no plugin of pipe: it does not export `", kEntry, "`; see plugins/ABI.md"));
  pipe_plugin_entry_function entry = nullptr;
  std::memcpy(&entry, &symbol, sizeof entry);  // the one way from a data pointer to a function
  std::shared_ptr<Plugin> plugin(new Plugin(path));
  Status begun = plugin->Begin(entry());
  if (begun.ok()) begun = plugin->Describe();
  if (!begun.ok()) return fail(begun.message());
  return std::shared_ptr<const Plugin>(std::move(plugin));
}

Status Plugin::Begin(const void* entry) {
  const auto fail = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  if (entry == nullptr) return fail(StrCat("is no plugin: `", kEntry, "` gave nothing"));
  // These two members have the same place in every version; the rest is read once they are right.
  std::uint32_t size = 0, major = 0;
  std::memcpy(&size, entry, sizeof size);
  std::memcpy(&major, static_cast<const char*>(entry) + offsetof(pipe_plugin, abi_major), sizeof major);
  if (major != PIPE_ABI_MAJOR)
    return fail(StrCat("speaks ", Major(major), ", and this program speaks ", Major(PIPE_ABI_MAJOR),
                       "; build it with this program's plugin_abi.h"));
  if (size < kSmallestStruct)
    return fail(StrCat("its pipe_plugin has ", size, " bytes where version ", PIPE_ABI_MAJOR, " needs ",
                       kSmallestStruct, "; set struct_size to sizeof(pipe_plugin)"));
  auto functions = std::make_unique<pipe_plugin>();
  std::memcpy(functions.get(), entry, std::min<std::size_t>(size, sizeof *functions));
  name_ = Named(functions->name);
  version_ = Named(functions->version);
  if (!IsName(name_)) return fail(StrCat("calls itself '", name_, "': ", kNameRule));
  if (functions->describe == nullptr) return fail("has no function `describe`");
  functions_ = std::move(functions);
  return {};
}

Status Plugin::Describe() {
  const PluginServices none = {.log = [](Level level, std::string_view line) { Log(level, line); }};
  PluginCall call(none);
  RETURN_IF_ERROR(call.Outcome(functions_->describe(call.abi())).Annotate("`describe` failed"));
  description_text_ = call.answer();
  Result<std::unique_ptr<PluginDescription>> parsed = ParseDescription(name_, description_text_);
  if (!parsed.ok()) return std::move(parsed).status().Annotate("the reply of `describe`");
  if (!(*parsed)->stages.empty() && functions_->run == nullptr)
    return Status(Code::kInvalidArgument, "has stages, and no function `run`");
  if (!(*parsed)->commands.empty() &&
      (functions_->extension == nullptr || functions_->extension(PIPE_COMMANDS_1) == nullptr))
    return Status(Code::kInvalidArgument, StrCat("has commands, and no extension ", PIPE_COMMANDS_1));
  description_ = std::move(*parsed);
  return {};
}

Result<Json> Plugin::Check(const Json& request, const PluginServices& services) const {
  return Ask(functions_->check, request, services);
}

Result<Json> Plugin::Forecast(const Json& request, const PluginServices& services) const {
  return Ask(functions_->forecast, request, services);
}

Status Plugin::Prepare(const Json& request, const PluginServices& services) const {
  const auto* const extension = static_cast<const pipe_prepare_1*>(
      functions_->extension != nullptr ? functions_->extension(PIPE_PREPARE_1) : nullptr);
  if (extension == nullptr || extension->struct_size < sizeof(pipe_prepare_1)) return {};
  return Ask(extension->prepare, request, services).status();
}

Result<Json> Plugin::FindHost(const Json& request, const PluginServices& services) const {
  const auto* const extension = static_cast<const pipe_hosts_1*>(
      functions_->extension != nullptr ? functions_->extension(PIPE_HOSTS_1) : nullptr);
  if (extension == nullptr || extension->struct_size < sizeof(pipe_hosts_1)) return Json();
  return Ask(extension->find, request, services);
}

Result<Json> Plugin::Expand(const Json& request, const PluginServices& services) const {
  const auto* const extension = static_cast<const pipe_expand_1*>(
      functions_->extension != nullptr ? functions_->extension(PIPE_EXPAND_1) : nullptr);
  if (extension == nullptr || extension->struct_size < sizeof(pipe_expand_1)) return Json();
  return Ask(extension->expand, request, services);
}

Result<Json> Plugin::Run(const Json& request, const PluginServices& services) const {
  return Ask(functions_->run, request, services);
}

Result<int> Plugin::RunCommand(const std::vector<std::string>& words, const PluginServices& services) const {
  const auto* const commands = static_cast<const pipe_commands_1*>(
      functions_->extension != nullptr ? functions_->extension(PIPE_COMMANDS_1) : nullptr);
  if (commands == nullptr || commands->struct_size < sizeof(pipe_commands_1) || commands->run == nullptr)
    return Status(Code::kInvalidArgument,
                  StrCat(path_, ": its ", PIPE_COMMANDS_1, " has no function `run`; see plugins/ABI.md"));
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  PluginCall call(services);
  const std::int32_t code = commands->run(call.abi(), static_cast<std::int32_t>(words.size()), argv.data());
  if (!call.failure().empty()) services.log(Level::kError, StrCat(words.front(), ": ", call.failure()));
  return code;
}

}  // namespace pipeline
