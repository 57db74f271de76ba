/* A whole plugin: a stage that greets an artifact, and a command that greets you. It uses events, storage and
 * commands, and is a test of the ABI, too. Built with plugin_abi.h alone:
 *
 *   cc -std=c99 -shared -fPIC -fvisibility=hidden -I plugins -o pipe_hello.so plugins/hello/hello.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_abi.h"

static const char kDescription[] =
    "{\"stages\": [{\"name\": \"greet\", \"version\": 1, \"kind\": \"job\","
    "  \"help\": \"Writes a greeting that names every object of an artifact.\","
    "  \"ports\": [{\"name\": \"data\", \"help\": \"The artifact that is greeted.\"}],"
    "  \"keys\": [{\"name\": \"greeting\", \"type\": \"string\", \"default\": \"hello\", \"help\": \"The "
    "first word.\"},"
    "           {\"name\": \"times\", \"type\": \"integer\", \"default\": \"1\", \"effect\": \"continue\","
    "            \"help\": \"How many times.\"}]}],"
    " \"commands\": [{\"name\": \"hello\", \"help\": \"Says hello to the words that follow.\"}]}";

static pipe_text text_of(const char* string) {
  pipe_text text;
  text.data = string;
  text.size = strlen(string);
  return text;
}

/* A plugin brings its own reader of JSON, or does with less, as here: what follows `"key":` in a text that
 * the host wrote without white space. Handles no escapes. Null where there is none; the caller frees it. */
static char* member(const char* json, const char* after, const char* key) {
  char quoted[64];
  const char* at;
  const char* end;
  char* value;
  (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
  at = after != NULL ? strstr(json, after) : json;
  if (at == NULL || (at = strstr(at, quoted)) == NULL) return NULL;
  at += strlen(quoted);
  if (*at == '"') {
    end = strchr(++at, '"');
  } else {
    end = at + strcspn(at, ",}");
  }
  if (end == NULL) return NULL;
  value = malloc((size_t)(end - at) + 1);
  if (value == NULL) return NULL;
  memcpy(value, at, (size_t)(end - at));
  value[end - at] = '\0';
  return value;
}

static char* copy(pipe_text text) {
  char* string = malloc(text.size + 1);
  if (string == NULL) return NULL;
  if (text.size > 0) memcpy(string, text.data, text.size);
  string[text.size] = '\0';
  return string;
}

static pipe_code fail(const pipe_call* call, pipe_code code, const char* why) {
  call->fail(call->ctx, text_of(why));
  return code;
}

static pipe_code describe(const pipe_call* call) {
  call->reply(call->ctx, text_of(kDescription));
  return PIPE_OK;
}

static pipe_code check(const pipe_call* call, pipe_text request) {
  pipe_code code = PIPE_OK;
  char* json = copy(request);
  char* greeting = json != NULL ? member(json, "\"config\":", "greeting") : NULL;
  if (greeting == NULL || *greeting == '\0')
    code = fail(call, PIPE_INVALID_ARGUMENT, "greeting: must not be empty");
  free(greeting);
  free(json);
  return code;
}

static pipe_code forecast(const pipe_call* call, pipe_text request) {
  (void)request;
  call->reply(call->ctx, text_of("{\"memory\": 65536}"));
  return PIPE_OK;
}

/* The state that the visitor of a listing adds to. */
struct greeting {
  const pipe_call* call;
  const pipe_storage_1* storage;
  pipe_writer* writer;
  const char* word;
  unsigned objects;
  pipe_code code;
};

static int32_t greet_object(void* user, pipe_text name, uint64_t bytes) {
  struct greeting* greeting = user;
  char line[1200];
  int length = snprintf(line, sizeof line, "%s %.*s (%llu bytes)\n", greeting->word, (int)name.size,
                        name.data, (unsigned long long)bytes);
  if (greeting->call->stopped(greeting->call->ctx)) greeting->code = PIPE_CANCELLED;
  if (greeting->code == PIPE_OK)
    greeting->code = greeting->storage->append(greeting->writer, line, (size_t)length);
  ++greeting->objects;
  return greeting->code != PIPE_OK;
}

/* Reads the manifest as any object is read, and says how long it is. */
static pipe_code measure(const pipe_storage_1* storage, const char* uri, uint64_t* bytes) {
  char buffer[4096];
  size_t got = 0;
  pipe_reader* reader = NULL;
  pipe_code code = storage->open(storage->ctx, text_of(uri), 0, &reader);
  if (code != PIPE_OK) return code;
  *bytes = 0;
  do {
    code = storage->read(reader, buffer, sizeof buffer, &got);
    *bytes += got;
  } while (code == PIPE_OK && got > 0);
  storage->close(reader);
  return code;
}

static pipe_code greet(const pipe_call* call, const pipe_storage_1* storage, const pipe_events_1* events,
                       const char* json) {
  char event[256];
  char target[2048];
  uint64_t manifest_bytes = 0, known_bytes = 0;
  struct greeting greeting = {0};
  char* word = member(json, "\"config\":", "greeting");
  char* times = member(json, "\"config\":", "times");
  char* data = member(json, "\"data\":", "uri");
  char* manifest = member(json, "\"data\":", "manifest");
  char* out = member(json, "\"out\":", "uri");
  pipe_code code = PIPE_OK;
  long left = times != NULL ? strtol(times, NULL, 10) : 0;
  if (word == NULL || times == NULL || data == NULL || manifest == NULL || out == NULL)
    code = fail(call, PIPE_INTERNAL, "the request lacks something");

  if (code == PIPE_OK) code = measure(storage, manifest, &manifest_bytes);
  if (code == PIPE_OK) code = storage->stat(storage->ctx, text_of(manifest), &known_bytes);
  if (code == PIPE_OK && known_bytes != manifest_bytes)
    code = fail(call, PIPE_DATA_LOSS, "the manifest has another length than it is said to have");
  if (code == PIPE_OK) {
    (void)snprintf(target, sizeof target, "%s/greeting.txt", out);
    code = storage->create(storage->ctx, text_of(target), PIPE_CREATE_ONLY, &greeting.writer);
  }
  if (code == PIPE_OK) {
    greeting.call = call;
    greeting.storage = storage;
    greeting.word = word;
    for (; left > 0 && code == PIPE_OK; --left) {
      code = storage->list(storage->ctx, text_of(data), greet_object, &greeting);
      if (code == PIPE_OK) code = greeting.code;
      (void)snprintf(event, sizeof event, "{\"kind\": \"progress\", \"done\": %u, \"of\": 0}",
                     greeting.objects);
      if (code == PIPE_OK) code = events->emit(events->ctx, text_of(event));
    }
    if (code == PIPE_OK)
      code = storage->commit(greeting.writer);
    else
      storage->discard(greeting.writer);
  }
  if (code == PIPE_OK) {
    (void)snprintf(event, sizeof event, "{\"kind\": \"note\", \"text\": \"greeted %u objects\"}",
                   greeting.objects);
    code = events->emit(events->ctx, text_of(event));
  }
  if (code == PIPE_OK) {
    (void)snprintf(event, sizeof event, "{\"objects\": [\"greeting.txt\"], \"facts\": {\"greeted\": %u}}",
                   greeting.objects);
    call->reply(call->ctx, text_of(event));
  }
  free(word);
  free(times);
  free(data);
  free(manifest);
  free(out);
  return code;
}

static pipe_code run(const pipe_call* call, pipe_text request) {
  const pipe_storage_1* storage = call->extension(call->ctx, PIPE_STORAGE_1);
  const pipe_events_1* events = call->extension(call->ctx, PIPE_EVENTS_1);
  pipe_code code;
  char* json;
  if (storage == NULL || events == NULL)
    return fail(call, PIPE_UNIMPLEMENTED,
                "this program offers no pipe.storage/1 or pipe.events/1; take a newer one");
  json = copy(request);
  if (json == NULL) return fail(call, PIPE_RESOURCE_EXHAUSTED, "out of memory");
  call->log(call->ctx, PIPE_LOG_INFO, text_of("hello from a plugin"));
  code = greet(call, storage, events, json);
  free(json);
  return code;
}

static int32_t run_command(const pipe_call* call, int32_t argc, const char* const* argv) {
  int32_t i;
  if (argc < 2) {
    call->fail(call->ctx, text_of("say whom to greet: pipe hello NAME..."));
    return 2;
  }
  for (i = 1; i < argc; ++i) printf("hello %s\n", argv[i]);
  return fflush(stdout) == 0 ? 0 : 1;
}

static const void* extension(const char* id) {
  static const pipe_commands_1 commands = {sizeof(pipe_commands_1), 0, run_command};
  return strcmp(id, PIPE_COMMANDS_1) == 0 ? &commands : NULL;
}

const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin),
                                     PIPE_ABI_MAJOR,
                                     PIPE_ABI_MINOR,
                                     0,
                                     "hello",
                                     "1.0.0",
                                     describe,
                                     check,
                                     forecast,
                                     run,
                                     extension};
  return &plugin;
}
