#include "plugins/abi_plugin.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/str.h"
#include "dag/pipeline_file/typed_value.h"
#include "plugins/description_reader.h"
#include "plugins/plugin_call.h"

namespace pipeline {

namespace {

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

/// Its members beyond the struct_size of the plugin are null.
Result<pipe_plugin> FunctionsAt(const void* entry) {
  const auto fail = [](std::string why) { return Status(Code::kInvalidArgument, std::move(why)); };
  if (entry == nullptr) return fail("is no plugin: `pipe_plugin_entry` gave nothing");
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
  pipe_plugin functions = {};
  std::memcpy(&functions, entry, std::min<std::size_t>(size, sizeof functions));
  const std::string name = Named(functions.name);
  if (!IsName(name)) return fail(StrCat("calls itself '", name, "': ", kNameRule));
  if (functions.describe == nullptr) return fail("has no function `describe`");
  return functions;
}

/// The extension of the plugin, which begins with its size; null: it has none of that size.
template <class Extension>
const Extension* ExtensionOf(const pipe_plugin& functions, const char* id) {
  const auto* const found =
      static_cast<const Extension*>(functions.extension != nullptr ? functions.extension(id) : nullptr);
  return found != nullptr && found->struct_size >= sizeof(Extension) ? found : nullptr;
}

Result<std::unique_ptr<const PluginDescription>> DescriptionOf(const pipe_plugin& functions) {
  const PluginServices none = {.log = [](Level level, std::string_view line) { Log(level, line); }};
  PluginCall call(none);
  RETURN_IF_ERROR(call.Outcome(functions.describe(call.abi())).Annotate("`describe` failed"));
  Result<std::unique_ptr<PluginDescription>> parsed = ParseDescription(functions.name, call.answer());
  if (!parsed.ok()) return std::move(parsed).status().Annotate("the reply of `describe`");
  if (!(*parsed)->stages.empty() && functions.run == nullptr)
    return Status(Code::kInvalidArgument, "has stages, and no function `run`");
  if (!(*parsed)->commands.empty() &&
      (functions.extension == nullptr || functions.extension(PIPE_COMMANDS_1) == nullptr))
    return Status(Code::kInvalidArgument, StrCat("has commands, and no extension ", PIPE_COMMANDS_1));
  return std::unique_ptr<const PluginDescription>(std::move(*parsed));
}

class AbiPlugin final : public Plugin {
 public:
  AbiPlugin(const pipe_plugin& functions, std::string path,
            std::unique_ptr<const PluginDescription> description)
      : Plugin(functions.name, Named(functions.version), std::move(path), std::move(description)),
        functions_(functions) {}

  Status Check(const Json& request, const PluginServices& services) const override {
    return Ask(functions_.check, request, services).status();
  }

  Result<Json> Forecast(const Json& request, const PluginServices& services) const override {
    return Ask(functions_.forecast, request, services);
  }

  Status Prepare(const Json& request, const PluginServices& services) const override {
    const auto* const extension = ExtensionOf<pipe_prepare_1>(functions_, PIPE_PREPARE_1);
    return Ask(extension != nullptr ? extension->prepare : nullptr, request, services).status();
  }

  Result<Json> FindHost(const Json& request, const PluginServices& services) const override {
    const auto* const extension = ExtensionOf<pipe_hosts_1>(functions_, PIPE_HOSTS_1);
    return Ask(extension != nullptr ? extension->find : nullptr, request, services);
  }

  Result<Json> Expand(const Json& request, const PluginServices& services) const override {
    const auto* const extension = ExtensionOf<pipe_expand_1>(functions_, PIPE_EXPAND_1);
    return Ask(extension != nullptr ? extension->expand : nullptr, request, services);
  }

  Result<Json> Run(const Json& request, const PluginServices& services) const override {
    return Ask(functions_.run, request, services);
  }

  Result<int> RunCommand(const std::vector<std::string>& words,
                         const PluginServices& services) const override {
    const auto* const commands = ExtensionOf<pipe_commands_1>(functions_, PIPE_COMMANDS_1);
    if (commands == nullptr || commands->run == nullptr)
      return Status(Code::kInvalidArgument,
                    StrCat(path(), ": its ", PIPE_COMMANDS_1, " has no function `run`; see plugins/ABI.md"));
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    argv.push_back(nullptr);
    PluginCall call(services);
    const std::int32_t code = commands->run(call.abi(), static_cast<std::int32_t>(words.size()), argv.data());
    if (!call.failure().empty()) services.log(Level::kError, StrCat(words.front(), ": ", call.failure()));
    return code;
  }

 private:
  const pipe_plugin functions_;
};

}  // namespace

Result<std::unique_ptr<const Plugin>> AbiPluginOf(const std::string& path, const void* entry) {
  ASSIGN_OR_RETURN(const pipe_plugin functions, FunctionsAt(entry));
  ASSIGN_OR_RETURN(std::unique_ptr<const PluginDescription> description, DescriptionOf(functions));
  return std::unique_ptr<const Plugin>(std::make_unique<AbiPlugin>(functions, path, std::move(description)));
}

}  // namespace pipeline
