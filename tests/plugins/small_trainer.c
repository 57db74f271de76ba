/* A trainer through the C ABI: it counts the bytes of an artifact, an object a step, keeps a checkpoint after
 * each step, and goes on from there when it is run again. The job ends while the machine is being preempted.
 * `pipe steps FILE` prints its stages in a pipeline file. small_trainer.py builds it with plugin_abi.h alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/plugin_abi.h"

static const char kDescription[] =
    "{\"stages\": [{\"name\": \"count\", \"version\": 1, \"kind\": \"job\", \"place\": \"recipe\", \"help\": "
    "\"Counts.\","
    "  \"ports\": [{\"name\": \"data\", \"help\": \"The rows.\", \"verify\": true}],"
    "  \"keys\": [{\"name\": \"die_at\", \"type\": \"integer\", \"default\": \"-1\", \"effect\": \"none\", "
    "\"help\": \"A step.\"}]}],"
    " \"commands\": [{\"name\": \"steps\", \"help\": \"Prints the stages.\"}]}";

struct training {
  const pipe_call* call;
  const pipe_storage_1* storage;
  const pipe_events_1* events;
  char out[1024], data[1024], version[256]; /* of the checkpoint; empty: there is none */
  unsigned long step, bytes, at; /* steps done, bytes counted, number of the object that is listed */
  long die_at;
  pipe_code code;
};

static pipe_text text_of(const char* string) {
  pipe_text text;
  text.data = string;
  text.size = strlen(string);
  return text;
}

/* The text behind `key`, which stands behind `after`, up to the next `end`; empty: it is not there. */
static void member(const char* json, const char* after, const char* key, const char* end, char* value,
                   size_t size) {
  const char* at = strstr(json, after);
  *value = '\0';
  if (at != NULL && (at = strstr(at, key)) != NULL)
    (void)snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), end), at + strlen(key));
}

static void take_version(void* user, pipe_text version) {
  struct training* training = user;
  (void)snprintf(training->version, sizeof training->version, "%.*s", (int)version.size, version.data);
}

static void take_checkpoint(void* user, pipe_text bytes, pipe_text version) {
  struct training* training = user;
  char text[64];
  (void)snprintf(text, sizeof text, "%.*s", (int)bytes.size, bytes.data);
  if (sscanf(text, "%lu %lu", &training->step, &training->bytes) != 2) training->code = PIPE_DATA_LOSS;
  take_version(user, version);
}

static int32_t train_on(void* user, pipe_text name, uint64_t bytes) {
  struct training* training = user;
  const pipe_storage_1* storage = training->storage;
  char uri[1100], text[200];
  if (training->at++ < training->step) return 0; /* an earlier run has counted it */
  if ((long)training->step == training->die_at) abort();
  if (training->call->stopped(training->call->ctx)) training->code = PIPE_CANCELLED;
  (void)name;
  training->bytes += (unsigned long)bytes;
  training->step++;
  (void)snprintf(uri, sizeof uri, "%s/checkpoint", training->out);
  (void)snprintf(text, sizeof text, "%lu %lu", training->step, training->bytes);
  if (training->code == PIPE_OK)
    training->code = storage->write_whole(storage->ctx, text_of(uri), text_of(text),
                                          text_of(training->version), 0, take_version, training);
  (void)snprintf(text, sizeof text, "{\"kind\": \"step\", \"step\": %lu, \"bytes\": %lu}", training->step,
                 training->bytes);
  if (training->code == PIPE_OK)
    training->code = training->events->emit(training->events->ctx, text_of(text));
  return training->code != PIPE_OK;
}

static void take_preempted(void* user, pipe_text value) {
  *(int*)user = value.size == 4 && memcmp(value.data, "TRUE", 4) == 0;
}

static pipe_code run(const pipe_call* call, pipe_text request) {
  struct training training = {0};
  const pipe_storage_1* storage = call->extension(call->ctx, PIPE_STORAGE_1);
  const pipe_metadata_1* metadata = call->extension(call->ctx, PIPE_METADATA_1);
  char json[8192], uri[1100], text[200];
  int preempted = 0;
  pipe_code code;
  pipe_writer* writer = NULL;
  (void)snprintf(json, sizeof json, "%.*s", (int)request.size, request.data);
  training.call = call;
  training.storage = storage;
  training.events = call->extension(call->ctx, PIPE_EVENTS_1);
  member(json, "\"out\":", "\"uri\":\"", "\"", training.out, sizeof training.out);
  member(json, "\"data\":", "\"uri\":\"", "\"", training.data, sizeof training.data);
  member(json, "\"config\":", "\"die_at\":", ",}", text, sizeof text);
  training.die_at = strtol(text, NULL, 10);
  code = metadata->read(metadata->ctx, text_of("instance/preempted"), take_preempted, &preempted);
  if (code != PIPE_OK && code != PIPE_NOT_FOUND) return code;
  if (preempted) {
    call->fail(call->ctx, text_of("the machine is being preempted; run it again on another"));
    return PIPE_UNAVAILABLE;
  }
  (void)snprintf(uri, sizeof uri, "%s/checkpoint", training.out);
  code = storage->read_whole(storage->ctx, text_of(uri), 64, take_checkpoint, &training);
  if (code != PIPE_OK && code != PIPE_NOT_FOUND) return code;
  (void)snprintf(text, sizeof text, "begins at step %lu", training.step);
  call->log(call->ctx, PIPE_LOG_INFO, text_of(text));
  code = storage->list(storage->ctx, text_of(training.data), train_on, &training);
  if (code == PIPE_OK) code = training.code;
  if (code == PIPE_OK) code = storage->remove(storage->ctx, text_of(uri));
  (void)snprintf(uri, sizeof uri, "%s/model.txt", training.out);
  if (code == PIPE_OK) code = storage->create(storage->ctx, text_of(uri), PIPE_REPLACE, &writer);
  (void)snprintf(text, sizeof text, "%lu objects, %lu bytes\n", training.step, training.bytes);
  if (code == PIPE_OK) code = storage->append(writer, text, strlen(text));
  if (code == PIPE_OK) code = storage->commit(writer);
  (void)snprintf(text, sizeof text, "{\"objects\": [\"model.txt\"], \"facts\": {\"steps\": %lu}}",
                 training.step);
  if (code == PIPE_OK) call->reply(call->ctx, text_of(text));
  return code;
}

static void print(void* user, pipe_text json) {
  (void)user;
  printf("%.*s\n", (int)json.size, json.data);
}

static int32_t run_command(const pipe_call* call, int32_t argc, const char* const* argv) {
  const pipe_pipeline_1* pipeline = call->extension(call->ctx, PIPE_PIPELINE_1);
  char request[1100];
  if (argc != 2 || pipeline == NULL) return 2;
  (void)snprintf(request, sizeof request, "{\"file\": \"%s\"}", argv[1]);
  if (pipeline->read(pipeline->ctx, text_of(request), print, NULL) != PIPE_OK) return 2;
  return fflush(stdout) == 0 ? 0 : 1;
}

static const void* extension(const char* id) {
  static const pipe_commands_1 commands = {sizeof(pipe_commands_1), 0, run_command};
  return strcmp(id, PIPE_COMMANDS_1) == 0 ? &commands : NULL;
}

static pipe_code describe(const pipe_call* call) {
  call->reply(call->ctx, text_of(kDescription));
  return PIPE_OK;
}

const pipe_plugin* pipe_plugin_entry(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin),
                                     PIPE_ABI_MAJOR,
                                     PIPE_ABI_MINOR,
                                     0,
                                     "small",
                                     "1",
                                     describe,
                                     NULL,
                                     NULL,
                                     run,
                                     extension};
  return &plugin;
}
