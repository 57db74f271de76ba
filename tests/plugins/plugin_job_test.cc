#include "plugins/plugin_job.h"

#include <gtest/gtest.h>

#include "base/child_ledger.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"
#include "tests/plugins/compiled_plugin.h"
#include "tests/support/built_tree.h"

namespace pipeline {
namespace {

/// An artifact `data` of two shards and a manifest, a place for what a job makes, and a host that writes down
/// what it is told.
class PluginJobTest : public testing::Test {
 protected:
  PluginJobTest() {
    std::filesystem::create_directory(directory_ / "data");
    WriteFile(directory_ / "data/MANIFEST.json", "{\"pipe\": 1}");
    WriteFile(directory_ / "data/shard", "12345");
    host_.open_store = [](const std::string& uri) { return OpenStore(uri); };
    host_.log = [this](Level, std::string_view line) { log_ += StrCat(line, "\n"); };
    host_.event = [this](std::string_view stage, const Json& event) {
      events_ += StrCat(stage, " ", event.Dump(), "\n");
    };
    host_.note = [this](std::string_view stage, std::string_view text) {
      notes_ += StrCat(stage, ": ", text, "\n");
    };
    PluginPlaces places;
    places.directories = {directory_.path().string()};
    places.probe = {BuiltProgram(), "__probe-plugin"};
    loader_ = std::make_unique<PluginLoader>(std::move(places));
    stages_ = std::make_unique<PluginStages>(*loader_, host_);
  }

  const StageType* Type(std::string_view plugin, std::string_view source, const std::string& type) {
    CompilePlugin(directory_, plugin, source);
    const Result<const StageType*> found = stages_->Find(std::string(plugin), type);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : nullptr;
  }
  const StageType* Greet() { return Type("hello", PluginSource("hello/hello.c"), "greet"); }

  std::unique_ptr<JobStage> Job(const StageType& type, Json config) {
    StageContext context;
    context.name = "greeting";
    context.config = std::move(config);
    ArtifactInput data;
    data.uri = directory_ / "data";
    data.directory = std::make_shared<LocalStore>(data.uri);
    data.facts["rows"] = 7;
    context.artifacts.emplace("data", data);
    auto made = type.job()->make(context);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }

  Result<JobOutput> Run(const JobStage& job) {
    JobRequest request;
    request.out = &out_;
    request.out_uri = out_.root();
    request.recipe = {0x0123456789abcdef, 1};
    request.condition = [this](const std::string&) { return condition_; };
    request.scratch = directory_ / "scratch";
    request.kept = directory_ / "kept";
    request.memory_bytes = 1 << 20;
    request.progress = [this](std::uint64_t done, std::uint64_t of) {
      progress_ += StrCat(done, "/", of, " ");
    };
    request.say = [this](std::string_view line) { said_ = line; };
    request.stop = stop_.get_token();
    return job.Run(request);
  }

  static Json Config(std::string_view greeting, int times) {
    Json config;
    config["greeting"] = greeting;
    config["times"] = times;
    return config;
  }

  TempDir directory_;
  LocalStore out_{directory_ / "out"};
  PluginHost host_;
  std::unique_ptr<PluginLoader> loader_;
  std::unique_ptr<PluginStages> stages_;
  std::stop_source stop_;
  Condition condition_ = Condition::ReplaceAny();
  std::string log_, events_, notes_, progress_, said_;
};

constexpr std::string_view kGreeting = "hi MANIFEST.json (11 bytes)\nhi shard (5 bytes)\n";

TEST_F(PluginJobTest, HelloUsesEveryExtensionOfTheHost) {
  const StageType* const type = Greet();
  ASSERT_NE(type, nullptr);
  const auto job = Job(*type, Config("hi", 2));
  const Result<std::uint64_t> memory = job->Memory({});
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(*memory, 65536u);
  const Result<JobOutput> output = Run(*job);
  ASSERT_TRUE(output.ok()) << output.status().message();
  const std::string bytes = StrCat(kGreeting, kGreeting);
  EXPECT_EQ(ReadFile(directory_ / "out/greeting.txt"), bytes);
  ASSERT_EQ(output->objects.size(), 1u);
  EXPECT_EQ(output->objects[0].name, "greeting.txt");
  EXPECT_EQ(output->objects[0].bytes, bytes.size());
  EXPECT_EQ(output->objects[0].digest, DigestOf(bytes));
  EXPECT_EQ(output->objects[0].crc32c, Crc32c(bytes));
  EXPECT_EQ(output->facts["greeted"].AsInt(), 4);
  EXPECT_EQ(log_, "hello from a plugin\n");
  EXPECT_EQ(progress_, "2/0 4/0 ");
  EXPECT_EQ(notes_, "greeting: greeted 4 objects\n");
  EXPECT_NE(events_.find(R"(greeting {"done":2,"kind":"progress","of":0})"), std::string::npos) << events_;
}

TEST_F(PluginJobTest, RunAgainReplacesAsTheRunSaysNotAsThePluginSays) {
  const StageType* const type = Greet();  // it asks for PIPE_CREATE_ONLY
  ASSERT_NE(type, nullptr);
  ASSERT_TRUE(Run(*Job(*type, Config("hi", 2))).ok());
  ASSERT_TRUE(Run(*Job(*type, Config("hi", 1))).ok());
  EXPECT_EQ(ReadFile(directory_ / "out/greeting.txt"), kGreeting);
}

TEST_F(PluginJobTest, StopBecomesCancelledAndLeavesNothing) {
  const StageType* const type = Greet();
  ASSERT_NE(type, nullptr);
  stop_.request_stop();
  EXPECT_EQ(Run(*Job(*type, Config("hi", 1))).status().code(), Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out/greeting.txt"));
}

TEST_F(PluginJobTest, FailureOfTheStorageIsTheReasonWhenThePluginGivesNone) {
  const StageType* const type = Greet();
  ASSERT_NE(type, nullptr);
  std::filesystem::remove(directory_ / "data/MANIFEST.json");
  const Status status = Run(*Job(*type, Config("hi", 1))).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message().substr(0, 16), "plugin 'hello': ");
  EXPECT_NE(status.message().find("data/MANIFEST.json"), std::string_view::npos) << status.message();
}

TEST_F(PluginJobTest, CheckJudgesTheConfiguration) {
  const StageType* const type = Greet();
  ASSERT_NE(type, nullptr);
  Schema schema;
  EXPECT_TRUE(type->check(Config("hi", 1), schema).ok());
  const Status status = type->check(Config("", 1), schema);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "greeting: must not be empty");
}

TEST_F(PluginJobTest, UnknownTypeSaysWhichThereAre) {
  ASSERT_NE(Greet(), nullptr);
  const auto found = stages_->Find("hello", "great");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("has no stage type 'great'; did you mean 'greet'?; it has: greet"),
            std::string_view::npos)
      << found.status().message();
}

/// A plugin whose job does `body`, with the call, the request and the storage at hand.
std::string Doing(std::string_view body) {
  return StrCat(
      "#include <string.h>\n#include \"plugin_abi.h\"\n",
      R"(static pipe_text text_of(const char* s) { pipe_text t; t.data = s; t.size = strlen(s); return t; }
static pipe_code describe(const pipe_call* call) {
  call->reply(call->ctx, text_of("{\"stages\": [{\"name\": \"s\", \"version\": 1, \"kind\": \"job\", \"help\": \"h\"}]}"));
  return PIPE_OK;
}
static pipe_code run(const pipe_call* call, pipe_text request) {
  const pipe_storage_1* storage = call->extension(call->ctx, PIPE_STORAGE_1);
  const pipe_events_1* events = call->extension(call->ctx, PIPE_EVENTS_1);
  (void)request;
  (void)storage;
  (void)events;
)",
      body, R"(
}
const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin), PIPE_ABI_MAJOR, 0, 0, "doing", "1", describe, 0, 0, run, 0};
  return &plugin;
}
)");
}

class PluginAnswerTest : public PluginJobTest {
 protected:
  Result<JobOutput> After(std::string_view body) {
    const StageType* const type = Type("doing", Doing(body), "s");
    if (type == nullptr) return Status(Code::kInternal, "no plugin");
    const auto job = Job(*type, Json(Json::Object{}));
    EXPECT_EQ(*job->Memory({}), 0u);
    return Run(*job);
  }
};

TEST_F(PluginAnswerTest, ObjectsThatThePluginWroteItselfAreRead) {
  std::filesystem::create_directory(directory_ / "out");
  WriteFile(directory_ / "out/own.bin", "abc");
  const auto output =
      After(R"(call->reply(call->ctx, text_of("{\"objects\": [\"own.bin\"]}")); return PIPE_OK;)");
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->objects.at(0).bytes, 3u);
  EXPECT_EQ(output->objects.at(0).digest, DigestOf("abc"));
  EXPECT_EQ(output->objects.at(0).crc32c, Crc32c("abc"));
}

TEST_F(PluginAnswerTest, WordsOfAProgressAreShownOnOneLine) {
  std::filesystem::create_directory(directory_ / "out");
  WriteFile(directory_ / "out/own.bin", "abc");
  const auto output = After(R"(
    events->emit(events->ctx, text_of("{\"kind\": \"progress\", \"done\": 3, \"of\": 9, \"text\": \"step 3\\n\\u001b[2J\"}"));
    call->reply(call->ctx, text_of("{\"objects\": [\"own.bin\"]}"));
    return PIPE_OK;)");
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(progress_, "3/9 ");
  EXPECT_EQ(said_, "step 3  [2J");
}

TEST_F(PluginAnswerTest, ItsChildrenCountForTheUnitThatRunsIt) {
  std::filesystem::create_directory(directory_ / "out");
  WriteFile(directory_ / "out/own.bin", "abc");
  const ChildOwner owner("train/-");
  const auto output = After(R"(
    const char* told[] = {"{\"kind\": \"process\", \"pid\": 99999001}",
                          "{\"kind\": \"process\", \"pid\": 99999002}",
                          "{\"kind\": \"process\", \"pid\": 1}",
                          "{\"kind\": \"process\", \"pid\": -7}",
                          "{\"kind\": \"process\", \"pid\": \"me\", \"ended\": 3}",
                          "{\"kind\": \"process\", \"pid\": 99999001, \"ended\": true, \"cpu\": 1e6, \"read\": -4, \"written\": 7000000000000}"};
    unsigned at;
    for (at = 0; at < sizeof told / sizeof told[0]; ++at) events->emit(events->ctx, text_of(told[at]));
    call->reply(call->ctx, text_of("{\"objects\": [\"own.bin\"]}"));
    return PIPE_OK;)");
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(ChildLedger::Get().Living(), (std::map<pid_t, std::string>{{99999002, "train/-"}}));
  ChildLedger::Get().Ended(99999002, {});
  const ProcessUse use = ChildLedger::Get().TakeEnded("train/-");
  // The compiler of this plugin was a child in the same scope.
  EXPECT_NEAR(use.cpu, 1e6, 100);
  EXPECT_LT(use.read, std::uint64_t{1} << 30) << "a negative count is none";
  EXPECT_NEAR(static_cast<double>(use.written), 7e12, 1e9);
  EXPECT_EQ(events_.find("process"), std::string::npos) << "it is no line of the file";
}

class PluginWrongAnswerTest : public PluginAnswerTest,
                              public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(PluginWrongAnswerTest, IsRefused) {
  const auto& [reply, what] = GetParam();
  const Result<JobOutput> output = After(StrCat(reply, " return PIPE_OK;"));
  EXPECT_FALSE(output.ok());
  EXPECT_NE(output.status().message().find(what), std::string_view::npos) << output.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, PluginWrongAnswerTest,
    testing::Values(std::pair("", "names no 'objects'"),
                    std::pair("call->reply(call->ctx, text_of(\"{\"));", "its answer is not JSON"),
                    std::pair(R"(call->reply(call->ctx, text_of("{\"objects\": [\"gone\"]}"));)",
                              "the object 'gone', which is not there"),
                    std::pair(R"(call->reply(call->ctx, text_of("{\"objects\": [1]}"));)", "each once")));

TEST_F(PluginAnswerTest, CodeWithoutAWordStillSaysSomething) {
  EXPECT_EQ(After("return 12345;").status().message(), "plugin 'doing': failed without a message (internal)");
}

TEST_F(PluginAnswerTest, FirstReasonCounts) {
  const auto output = After(
      R"(call->fail(call->ctx, text_of("the cause")); call->fail(call->ctx, text_of("a consequence"));
         return PIPE_UNAVAILABLE;)");
  EXPECT_EQ(output.status().code(), Code::kUnavailable);
  EXPECT_EQ(output.status().message(), "plugin 'doing': the cause");
}

TEST_F(PluginAnswerTest, WriterLeftOpenNeverWas) {
  const std::string out = directory_ / "out";
  const auto output = After(StrCat(R"(pipe_writer* writer = 0;
    storage->create(storage->ctx, text_of(")",
                                   out, R"(/torn"), PIPE_REPLACE, &writer);
    storage->append(writer, "abc", 3);
    return PIPE_INTERNAL;)"));
  EXPECT_FALSE(output.ok());
  LocalStore store(out);
  EXPECT_TRUE(store.List("")->empty());
  if (std::filesystem::exists(out)) {
    EXPECT_TRUE(std::filesystem::is_empty(out)) << "a temporary stayed";
  }
}

TEST_F(PluginAnswerTest, WhatTheJobRemovedItMayCreateAnew) {
  std::filesystem::create_directory(directory_ / "out");
  WriteFile(directory_ / "out/own.bin", "abc");
  condition_ = Condition::Replace("a version that is not there any more");
  const std::string uri = StrCat("text_of(\"", directory_ / "out/own.bin", "\")");
  const auto output = After(StrCat("pipe_writer* writer = 0; const pipe_text uri = ", uri, R"(;
    if (storage->remove(storage->ctx, uri) != PIPE_OK || storage->stat(storage->ctx, uri, 0) != PIPE_NOT_FOUND) return 21;
    if (storage->remove(storage->ctx, uri) != PIPE_OK) return 22;
    if (storage->create(storage->ctx, uri, PIPE_CREATE_ONLY, &writer) != PIPE_OK) return 23;
    if (storage->append(writer, "new", 3) != PIPE_OK || storage->commit(writer) != PIPE_OK) return PIPE_UNAVAILABLE;
    call->reply(call->ctx, text_of("{\"objects\": [\"own.bin\"]}"));
    return PIPE_OK;)"));
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->objects.at(0).digest, DigestOf("new"));
}

TEST_F(PluginAnswerTest, StopEndsWritersButThoseThatAreForAfterIt) {
  stop_.request_stop();
  const std::string at = directory_ / "elsewhere";
  const auto output =
      After(StrCat("pipe_writer* writer = 0; const pipe_text uri = text_of(\"", at, "/saved\");", R"(
    if (storage->create(storage->ctx, uri, PIPE_CREATE_ONLY, &writer) != PIPE_CANCELLED) return 21;
    if (storage->create(storage->ctx, uri, PIPE_CREATE_ONLY | PIPE_AFTER_STOP, &writer) != PIPE_OK) return 22;
    if (storage->append(writer, "abc", 3) != PIPE_OK || storage->commit(writer) != PIPE_OK) return 23;
    if (storage->create(storage->ctx, uri, PIPE_CREATE_ONLY | PIPE_AFTER_STOP, &writer) != PIPE_OK) return 24;
    if (storage->commit(writer) != PIPE_ALREADY_EXISTS) return 25;
    return PIPE_CANCELLED;)"));
  EXPECT_EQ(output.status().code(), Code::kCancelled) << output.status().message();
  EXPECT_EQ(ReadFile(at + "/saved"), "abc");
}

TEST_F(PluginAnswerTest, DirectoryThatStaysIsThePluginsOwn) {
  const auto output = After("call->fail(call->ctx, request); return PIPE_UNAVAILABLE;");
  EXPECT_NE(output.status().message().find(StrCat(R"("kept":")", directory_ / "kept/doing", "\"")),
            std::string_view::npos)
      << output.status().message();
}

TEST_F(PluginAnswerTest, BadCallsIntoTheHostAreRefusedNotCarriedOut) {
  const auto output = After(R"(
    pipe_reader* reader = 0;
    char why[8];
    if (call->extension(call->ctx, "pipe.storage/9") != 0) return PIPE_INTERNAL;
    if (events->emit(events->ctx, text_of("{\"kind\": \"Bad Kind\"}")) != PIPE_INVALID_ARGUMENT) return 21;
    if (events->emit(events->ctx, text_of("no json")) != PIPE_INVALID_ARGUMENT) return PIPE_INTERNAL;
    if (storage->open(storage->ctx, text_of("relative/path"), 0, &reader) != PIPE_INVALID_ARGUMENT) return PIPE_INTERNAL;
    if (storage->stat(storage->ctx, text_of("/no/such/object"), 0) != PIPE_NOT_FOUND) return PIPE_INTERNAL;
    if (storage->last_error(storage->ctx, why, sizeof why) < 20 || memcmp(why, "/no/such", 8) != 0) return PIPE_INTERNAL;
    storage->close(0);
    storage->discard(0);
    call->fail(call->ctx, text_of("all as it should be"));
    return PIPE_INTERNAL;)");
  EXPECT_EQ(output.status().message(), "plugin 'doing': all as it should be");
  EXPECT_TRUE(events_.empty());
}

/// Answers its position from its configuration, and gives its request back as facts; a follower replies with
/// nothing.
constexpr std::string_view kTogether = R"(
static pipe_text text(const char* t) { pipe_text r = {t, strlen(t)}; return r; }
static pipe_code describe(const pipe_call* call) {
  call->reply(call->ctx, text("{\"stages\": [{\"name\": \"join\", \"version\": 1, \"help\": \"Joins.\", "
      "\"kind\": \"job\", \"ports\": [{\"name\": \"data\", \"verify\": true}], "
      "\"keys\": [{\"name\": \"answer\", \"type\": \"string\", \"help\": \"A.\"}]}]}"));
  return PIPE_OK;
}
static int has(pipe_text request, const char* part) {
  return memmem(request.data, request.size, part, strlen(part)) != 0;
}
static pipe_code find(const pipe_call* call, pipe_text request) {
  if (has(request, "\"leads\"")) call->reply(call->ctx, text("{\"host\": 0, \"hosts\": 2, \"more\": \"x\"}"));
  else if (has(request, "\"follows\"")) call->reply(call->ctx, text("{\"host\": 1, \"hosts\": 2}"));
  else call->reply(call->ctx, text("{\"host\": 2, \"hosts\": 2}"));
  return PIPE_OK;
}
static pipe_code run(const pipe_call* call, pipe_text request) {
  if (!has(request, "\"position\":{\"host\":1,\"hosts\":2}")) {
    call->fail(call->ctx, request);
    return PIPE_INTERNAL;
  }
  return PIPE_OK;
}
static const void* extension(const char* id) {
  static const pipe_hosts_1 hosts = {sizeof(pipe_hosts_1), 0, find};
  return strcmp(id, PIPE_HOSTS_1) == 0 ? &hosts : 0;
}
const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin), PIPE_ABI_MAJOR, PIPE_ABI_MINOR, 0, "together", "1",
                                     describe, 0, 0, run, extension};
  return &plugin;
}
)";

std::string Together() {
  return StrCat("#define _GNU_SOURCE\n#include <string.h>\n#include \"plugin_abi.h\"\n", kTogether);
}

Json AnswerKey(std::string_view answer) {
  Json config;
  config["answer"] = answer;
  return config;
}

TEST_F(PluginJobTest, APositionIsAskedForAndKeptWhole) {
  const StageType* const type = Type("together", Together(), "join");
  ASSERT_NE(type, nullptr);
  const Result<JobPosition> leads = type->job()->find_position(AnswerKey("leads"));
  ASSERT_TRUE(leads.ok()) << leads.status().message();
  EXPECT_FALSE(leads->follows());
  EXPECT_EQ(leads->hosts, 2);
  EXPECT_EQ(leads->answer["more"].AsString(), "x");
  EXPECT_TRUE(type->job()->find_position(AnswerKey("follows"))->follows());
  EXPECT_EQ(type->job()->find_position(AnswerKey("wrong")).status().code(), Code::kInternal);
}

/// Answers what its style stands for.
constexpr std::string_view kStyles = R"(
static pipe_text text(const char* t) { pipe_text r = {t, strlen(t)}; return r; }
static pipe_code describe(const pipe_call* call) {
  call->reply(call->ctx, text("{\"stages\": [{\"name\": \"say\", \"version\": 1, \"help\": \"Says.\", "
      "\"kind\": \"job\", \"ports\": [{\"name\": \"data\"}, {\"name\": \"words\", \"required\": false}], "
      "\"keys\": [{\"name\": \"style\", \"type\": \"string\", \"help\": \"A.\"}, "
      "{\"name\": \"greeting\", \"type\": \"strings\", \"default\": null, \"help\": \"B.\"}]}]}"));
  return PIPE_OK;
}
static int has(pipe_text request, const char* part) {
  return memmem(request.data, request.size, part, strlen(part)) != 0;
}
static pipe_code expand(const pipe_call* call, pipe_text request) {
  if (has(request, "\"named_inputs\":[\"data\",\"words\"]") && has(request, "\"style\":\"formal\""))
    call->reply(call->ctx, text("{\"config\": {\"style\": \"formal\", \"greeting\": [\"good\", \"morning\"]}, "
                                "\"unread\": [\"words\"], \"notes\": [\"says good morning\"]}"));
  else if (has(request, "\"typo\"")) call->reply(call->ctx, text("{\"config\": {\"style\": \"a\", \"greting\": \"b\"}}"));
  else if (has(request, "\"kind\"")) call->reply(call->ctx, text("{\"config\": {\"style\": \"a\", \"greeting\": \"b\"}}"));
  else if (has(request, "\"less\"")) call->reply(call->ctx, text("{\"config\": {}}"));
  else if (has(request, "\"none\"")) call->reply(call->ctx, text("{}"));
  else {
    call->fail(call->ctx, text("style: there is no such style"));
    return PIPE_INVALID_ARGUMENT;
  }
  return PIPE_OK;
}
static pipe_code run(const pipe_call* call, pipe_text request) {
  call->reply(call->ctx, request);
  return PIPE_OK;
}
static const void* extension(const char* id) {
  static const pipe_expand_1 expands = {sizeof(pipe_expand_1), 0, expand};
  return strcmp(id, PIPE_EXPAND_1) == 0 ? &expands : 0;
}
const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin), PIPE_ABI_MAJOR, PIPE_ABI_MINOR, 0, "styles", "1",
                                     describe, 0, 0, run, extension};
  return &plugin;
}
)";

TEST_F(PluginJobTest, KeysAreReplacedByThoseThatTheyStandFor) {
  const StageType* const type =
      Type("styles", StrCat("#define _GNU_SOURCE\n#include <string.h>\n#include \"plugin_abi.h\"\n", kStyles),
           "say");
  ASSERT_NE(type, nullptr);
  const auto expand = [&](std::string_view style) {
    Json config;
    config["style"] = style;
    return type->expand(config, {"data", "words"});
  };
  const Result<Expansion> formal = expand("formal");
  ASSERT_TRUE(formal.ok()) << formal.status().message();
  EXPECT_EQ(formal->config, *Json::Parse(R"({"style": "formal", "greeting": ["good", "morning"]})"));
  EXPECT_EQ(formal->unread, std::vector<std::string>{"words"});
  EXPECT_EQ(formal->notes, std::vector<std::string>{"says good morning"});
  EXPECT_EQ(expand("odd").status().message(), "style: there is no such style");
  for (const auto& [style, why] :
       {std::pair("typo", "the key 'greting', which the stage has not"),
        std::pair("kind", "a value of another type for the key 'greeting'"),
        std::pair("less", "no value for the key 'style'"), std::pair("none", "no `config`")}) {
    const Status status = expand(style).status();
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  }
}

TEST_F(PluginJobTest, APluginWithoutTheExtensionRunsOnOneMachine) {
  const StageType* const type = Greet();
  ASSERT_NE(type, nullptr);
  const Result<JobPosition> position = type->job()->find_position(Config("hi", 1));
  ASSERT_TRUE(position.ok());
  EXPECT_EQ(position->hosts, 1);
  EXPECT_TRUE(position->answer.is_null());
  const Result<Expansion> expansion = type->expand(Config("hi", 1), {"data"});
  ASSERT_TRUE(expansion.ok());
  EXPECT_EQ(expansion->config, Config("hi", 1)) << "its keys stand for themselves";
}

TEST_F(PluginJobTest, AFollowerVerifiesNothingAndItsReplyIsNotNeeded) {
  const StageType* const type = Type("together", Together(), "join");
  ASSERT_NE(type, nullptr);
  const auto job = Job(*type, AnswerKey("follows"));
  JobRequest request;
  request.out = &out_;
  request.out_uri = out_.root();
  request.scratch = directory_ / "scratch";
  request.position = *type->job()->find_position(AnswerKey("follows"));
  const Result<JobOutput> output = job->Run(request);  // its `data` is no artifact that could be verified
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_TRUE(output->objects.empty());
  request.position = {};
  EXPECT_FALSE(job->Run(request).ok());
}

}  // namespace
}  // namespace pipeline
