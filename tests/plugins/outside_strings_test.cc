// Strings and numbers of the plugin ABI: plugins that are built already hold them. Rules: plugins/ABI.md
#include "tests/support/outside_strings.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/digest.h"
#include "base/str.h"
#include "dag/records/job_stage.h"
#include "plugins/description_reader.h"
#include "plugins/plugin_abi.h"
#include "plugins/plugin_stage.h"
#include "storage/local_store.h"
#include "tests/plugins/compiled_plugin.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

TEST(OutsideStringsOfPluginsTest, Abi) {
  OutsideStrings strings;
  strings.Add("version", StrCat(PIPE_ABI_MAJOR, ".", PIPE_ABI_MINOR)).Add("symbol", "pipe_plugin_entry");
  for (const std::string_view id : {PIPE_EVENTS_1, PIPE_STORAGE_1, PIPE_PIPELINE_1, PIPE_METADATA_1,
                                    PIPE_COMMANDS_1, PIPE_PREPARE_1, PIPE_HOSTS_1, PIPE_EXPAND_1})
    strings.Add("extension", id);
  const auto add = [&strings](std::string_view kind, std::string_view name, std::size_t value) {
    strings.Add(kind, StrCat(name, " ", value));
  };
#define ADD_NUMBER(name) add("number", #name, name)
  ADD_NUMBER(PIPE_OK);
  ADD_NUMBER(PIPE_CANCELLED);
  ADD_NUMBER(PIPE_INVALID_ARGUMENT);
  ADD_NUMBER(PIPE_NOT_FOUND);
  ADD_NUMBER(PIPE_ALREADY_EXISTS);
  ADD_NUMBER(PIPE_PERMISSION_DENIED);
  ADD_NUMBER(PIPE_FAILED_PRECONDITION);
  ADD_NUMBER(PIPE_DATA_LOSS);
  ADD_NUMBER(PIPE_UNAVAILABLE);
  ADD_NUMBER(PIPE_RESOURCE_EXHAUSTED);
  ADD_NUMBER(PIPE_UNIMPLEMENTED);
  ADD_NUMBER(PIPE_INTERNAL);
  ADD_NUMBER(PIPE_LOG_INFO);
  ADD_NUMBER(PIPE_LOG_WARNING);
  ADD_NUMBER(PIPE_LOG_ERROR);
  ADD_NUMBER(PIPE_CREATE_ONLY);
  ADD_NUMBER(PIPE_REPLACE);
  ADD_NUMBER(PIPE_AFTER_STOP);
#undef ADD_NUMBER
#define ADD_MEMBER(type, member) add("offset", #type "." #member, offsetof(type, member))
  ADD_MEMBER(pipe_text, data);
  ADD_MEMBER(pipe_text, size);
  ADD_MEMBER(pipe_call, struct_size);
  ADD_MEMBER(pipe_call, abi_minor);
  ADD_MEMBER(pipe_call, ctx);
  ADD_MEMBER(pipe_call, stopped);
  ADD_MEMBER(pipe_call, reply);
  ADD_MEMBER(pipe_call, fail);
  ADD_MEMBER(pipe_call, log);
  ADD_MEMBER(pipe_call, extension);
  ADD_MEMBER(pipe_plugin, struct_size);
  ADD_MEMBER(pipe_plugin, abi_major);
  ADD_MEMBER(pipe_plugin, abi_minor);
  ADD_MEMBER(pipe_plugin, reserved);
  ADD_MEMBER(pipe_plugin, name);
  ADD_MEMBER(pipe_plugin, version);
  ADD_MEMBER(pipe_plugin, describe);
  ADD_MEMBER(pipe_plugin, check);
  ADD_MEMBER(pipe_plugin, forecast);
  ADD_MEMBER(pipe_plugin, run);
  ADD_MEMBER(pipe_plugin, extension);
  ADD_MEMBER(pipe_events_1, emit);
  ADD_MEMBER(pipe_storage_1, stat);
  ADD_MEMBER(pipe_storage_1, open);
  ADD_MEMBER(pipe_storage_1, read);
  ADD_MEMBER(pipe_storage_1, close);
  ADD_MEMBER(pipe_storage_1, create);
  ADD_MEMBER(pipe_storage_1, append);
  ADD_MEMBER(pipe_storage_1, commit);
  ADD_MEMBER(pipe_storage_1, discard);
  ADD_MEMBER(pipe_storage_1, list);
  ADD_MEMBER(pipe_storage_1, last_error);
  ADD_MEMBER(pipe_storage_1, remove);
  ADD_MEMBER(pipe_storage_1, read_whole);
  ADD_MEMBER(pipe_storage_1, write_whole);
  ADD_MEMBER(pipe_pipeline_1, read);
  ADD_MEMBER(pipe_metadata_1, read);
  ADD_MEMBER(pipe_hosts_1, find);
  ADD_MEMBER(pipe_expand_1, expand);
  ADD_MEMBER(pipe_commands_1, run);
  ADD_MEMBER(pipe_prepare_1, prepare);
#undef ADD_MEMBER
  // A further member makes its struct larger: pin the member, then the size.
  add("size", "pipe_call", sizeof(pipe_call));
  add("size", "pipe_plugin", sizeof(pipe_plugin));
  add("size", "pipe_events_1", sizeof(pipe_events_1));
  add("size", "pipe_storage_1", sizeof(pipe_storage_1));
  add("size", "pipe_pipeline_1", sizeof(pipe_pipeline_1));
  add("size", "pipe_metadata_1", sizeof(pipe_metadata_1));
  add("size", "pipe_hosts_1", sizeof(pipe_hosts_1));
  add("size", "pipe_expand_1", sizeof(pipe_expand_1));
  add("size", "pipe_commands_1", sizeof(pipe_commands_1));
  add("size", "pipe_prepare_1", sizeof(pipe_prepare_1));
  EXPECT_TRUE(ArePinned(strings, "plugin_abi"));
}

/// A description with every member. The host refuses a member that it does not know.
constexpr std::string_view kEveryMember = R"({
  "stages": [{"name": "s", "version": 1, "kind": "job", "help": "h", "place": "recipe", "libraries": {"<library>": "1"},
    "ports": [{"name": "data", "help": "h", "required": false, "or_file": true, "verify": false}],
    "keys": [{"name": "k", "type": "choice", "default": "a", "effect": "none", "choices": ["a", "b"], "help": "h"},
             {"name": "f", "type": "string", "content": true, "help": "h"}]}],
  "commands": [{"name": "c", "help": "h",
    "words": [{"flags": ["--flag"], "value": "N", "choices": ["1"], "help": "h", "required": true, "repeats": true}],
    "commands": [{"name": "d", "help": "h", "words": []}]}]})";

/// The refusal of a stage with these members; it has all words that the member may be.
std::string RefusalOf(std::string_view members) {
  const auto parsed = ParseDescription(
      "p", StrCat(R"({"stages": [{"name": "s", "version": 1, "kind": "job", "help": "h", )", members, "}]}"));
  return parsed.ok() ? std::string() : std::string(parsed.status().message());
}

/// A plugin that was built long ago. It answers each request with a failure whose message is the request, and
/// its job emits an event of each kind that the host shows.
constexpr std::string_view kEarlierPlugin =
    "#include <string.h>\n#include \"plugin_abi.h\"\n"
    R"(static const char about[] = "{\"stages\": [{\"name\": \"s\", \"version\": 1, \"kind\": \"job\", \"help\": \"h\","
  "\"ports\": [{\"name\": \"data\", \"help\": \"h\"}], \"keys\": []}]}";
static pipe_code describe(const pipe_call* call) {
  pipe_text json = {about, sizeof about - 1};
  call->reply(call->ctx, json);
  return PIPE_OK;
}
static pipe_code echo(const pipe_call* call, pipe_text request) {
  call->fail(call->ctx, request);
  return PIPE_INTERNAL;
}
static void emit(const pipe_call* call, const char* event) {
  const pipe_events_1* events = call->extension(call->ctx, "pipe.events/1");
  pipe_text json;
  json.data = event;
  json.size = strlen(event);
  if (events) events->emit(events->ctx, json);
}
static pipe_code run(const pipe_call* call, pipe_text request) {
  emit(call, "{\"kind\": \"progress\", \"done\": 1, \"of\": 2, \"text\": \"said\"}");
  emit(call, "{\"kind\": \"note\", \"text\": \"noted\"}");
  return echo(call, request);
}
static const void* extension(const char* id) {
  static const pipe_prepare_1 prepare = {sizeof(pipe_prepare_1), 0, echo};
  return strcmp(id, "pipe.prepare/1") == 0 ? &prepare : 0;
}
const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin), 1, 5, 0, "earlier", "1", describe, echo, 0, run, extension};
  return &plugin;
}
)";

TEST(OutsideStringsOfPluginsTest, AnswersAndRequests) {
  OutsideStrings strings;
  const auto parsed = ParseDescription("p", kEveryMember);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  strings.AddMembers("member of a description", *Json::Parse(kEveryMember));
  strings.Add("refusal of a place", RefusalOf(R"("place": "<word>")"));
  for (const std::string_view member : {"type", "effect"})
    strings.Add(
        StrCat("refusal of a key's ", member),
        RefusalOf(StrCat(R"("keys": [{"name": "k", "help": "h", "default": "", )",
                         member == "type" ? "" : R"("type": "string", )", '"', member, R"(": "<word>"}])")));

  strings.Add("digest of an earlier plugin", DigestOf(kEarlierPlugin).ToHex());
  const TempDir directory;
  CompilePlugin(directory, "earlier", kEarlierPlugin);
  PluginPlaces places;
  places.directories = {directory.path().string()};
  places.probe = {BuiltProgram(), "__probe-plugin"};
  PluginLoader loader(std::move(places));
  PluginHost host;
  host.open_store = [](const std::string&) { return Status(Code::kUnimplemented, "no store"); };
  host.log = [](Level, std::string_view) {};
  host.event = [](std::string_view, const Json&) {};
  std::string shown;
  host.note = [&shown](std::string_view, std::string_view text) { shown += StrCat(" ", text); };
  PluginStages stages(loader, host);
  const auto type = stages.Find("earlier", "s");
  ASSERT_TRUE(type.ok()) << type.status().message();
  const auto add_request = [&strings](std::string_view kind, const Status& failure) {
    const std::string message(failure.message());
    const Result<Json> request = Json::Parse(message.substr(std::min(message.find('{'), message.size())));
    ASSERT_TRUE(request.ok()) << message;
    strings.AddMembers(StrCat("member of a request to ", kind), *request);
  };
  Schema schema;
  schema.splits = {"train"};
  Json config{Json::Object{}};
  add_request("check", (*type)->check(config, schema));
  add_request("check with makers",
              (*type)->check_promised(config, schema, {"data", "<type>", config, schema, config}));
  add_request("prepare", (*type)->prepare(config));
  add_request("prepare of a dry run", (*type)->job()->prepare_run(config, config, true));
  add_request("prepare of a run", (*type)->job()->prepare_run(config, config, false));

  StageContext context;
  context.name = "<stage>";
  context.config = config;
  for (const std::string file : {"", "<file>"}) {
    ArtifactInput input;
    input.directory = std::make_shared<LocalStore>(directory / "data");
    input.uri = directory / "data";
    input.file = file;
    context.artifacts.insert_or_assign(file.empty() ? "data" : "words", input);
  }
  const auto job = (*type)->job()->make(context);
  ASSERT_TRUE(job.ok()) << job.status().message();
  LocalStore out(directory / "out");
  JobRequest request;
  request.out = &out;
  request.out_uri = out.root();
  request.scratch = directory / "scratch";
  request.kept = directory / "kept";
  request.memory_bytes = 1;
  request.threads = 1;
  request.progress = [&shown](std::uint64_t done, std::uint64_t of) { shown += StrCat(" ", done, "/", of); };
  request.say = [&shown](std::string_view line) { shown += StrCat(" ", line); };
  add_request("run", (*job)->Run(request).status());
  EXPECT_EQ(shown, " 1/2 said noted");
  EXPECT_TRUE(ArePinned(strings, "plugins"));
}

}  // namespace
}  // namespace pipeline
