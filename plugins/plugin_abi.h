/* The door between pipe and its plugins. C99; includes nothing of pipe's, so that this one file is all that a
 * plugin needs. The rules are in ABI.md, which comes with it.
 *
 * A tag says which threads may call: [one] the thread that was called, or one at a time for it; [any] any
 * thread, also at the same time. Nothing that is passed changes its owner: who receives a text copies it
 * before it returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_ABI_MAJOR 1u /* another one is another language: such a plugin is refused */
#define PIPE_ABI_MINOR 5u /* raised when a member of a struct or of an answer, or an extension, is added */

#define PIPE_EXPORT __attribute__((visibility("default")))

/* Bytes, UTF-8 unless said otherwise. Not ended by a NUL. `data` may be null when `size` is 0. */
typedef struct pipe_text {
  const char* data;
  size_t size;
} pipe_text;

/* How something ended. What is not listed counts as PIPE_INTERNAL. */
typedef int32_t pipe_code;
enum {
  PIPE_OK = 0,
  PIPE_CANCELLED = 1,        /* because of pipe_call.stopped */
  PIPE_INVALID_ARGUMENT = 2, /* the pipeline file or the command is wrong */
  PIPE_NOT_FOUND = 3,
  PIPE_ALREADY_EXISTS = 4,
  PIPE_PERMISSION_DENIED = 5,
  PIPE_FAILED_PRECONDITION = 6, /* the state of the world forbids it */
  PIPE_DATA_LOSS = 7,           /* bytes are damaged; trying again gives the same */
  PIPE_UNAVAILABLE = 8,         /* may pass when tried again */
  PIPE_RESOURCE_EXHAUSTED = 9,  /* disk or memory is full */
  PIPE_UNIMPLEMENTED = 10,
  PIPE_INTERNAL = 11 /* a bug */
};

enum { PIPE_LOG_INFO = 0, PIPE_LOG_WARNING = 1, PIPE_LOG_ERROR = 2 };

/* One call of the host into the plugin. Belongs to the host; valid, with all that it gives, until the called
 * function returns. */
typedef struct pipe_call {
  uint32_t struct_size; /* of the host's struct: members at or beyond it are not there */
  uint32_t abi_minor;   /* the host's */
  void* ctx;            /* first argument of every function below */
  /* [any] Not 0: what was asked for is no longer wanted; return PIPE_CANCELLED soon. Look twice a second. */
  int32_t (*stopped)(void* ctx);
  /* [one] The answer, a JSON text; a later one takes the place of an earlier one. */
  void (*reply)(void* ctx, pipe_text json);
  /* [any] Why the function is going to return another code than PIPE_OK: where, what, why, what to do. The
   * first one counts. */
  void (*fail)(void* ctx, pipe_text message);
  /* [any] A line for the person who looks on; PIPE_LOG_... */
  void (*log)(void* ctx, int32_t level, pipe_text line);
  /* [any] The host's extension of that name, such as PIPE_STORAGE_1; null where it has none. */
  const void* (*extension)(void* ctx, const char* id);
} pipe_call;

/* A plugin. Constant, and there as long as the library is loaded. */
typedef struct pipe_plugin {
  uint32_t struct_size; /* sizeof(pipe_plugin) */
  uint32_t abi_major;   /* PIPE_ABI_MAJOR. These two stay where they are in every version. */
  uint32_t abi_minor;   /* PIPE_ABI_MINOR */
  uint32_t reserved;    /* 0 */
  const char* name;     /* [a-z][a-z0-9_]*, at most 64 bytes */
  const char* version;  /* for people, e.g. "1.4.2" */
  /* [one] Replies with what it has: stages and commands. The same every time; reads nothing. */
  pipe_code (*describe)(const pipe_call* call);
  /* [any] Judges the configuration in `request`, beyond what its table of keys says. Reads nothing. May be
   * null. */
  pipe_code (*check)(const pipe_call* call, pipe_text request);
  /* [any] Replies {"memory": bytes}, what the stage of `request` is going to take. May be null: nothing to
   * speak of. */
  pipe_code (*forecast)(const pipe_call* call, pipe_text request);
  /* [any, each job on a thread of its own, which may block] Does the job in `request`, and replies with what
   * it made. May be null where there are no stages. */
  pipe_code (*run)(const pipe_call* call, pipe_text request);
  /* [any] The plugin's own extension of that name, such as PIPE_COMMANDS_1; null where it has none. May be
   * null. */
  const void* (*extension)(const char* id);
} pipe_plugin;

/* The only symbol that a plugin exports. */
PIPE_EXPORT const pipe_plugin* pipe_plugin_entry(void);
typedef const pipe_plugin* (*pipe_plugin_entry_function)(void);

/* ---- Offered by the host: ask pipe_call.extension --------------------------------------------------------
 */

#define PIPE_EVENTS_1 "pipe.events/1"
typedef struct pipe_events_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [any] Says that something happened: a JSON object. PIPE_INVALID_ARGUMENT where it is none. */
  pipe_code (*emit)(void* ctx, pipe_text json);
} pipe_events_1;

#define PIPE_STORAGE_1 "pipe.storage/1"
typedef struct pipe_reader pipe_reader; /* belongs to the host */
typedef struct pipe_writer pipe_writer;
enum {
  PIPE_CREATE_ONLY = 0, /* commit fails with PIPE_ALREADY_EXISTS where there is an object */
  PIPE_REPLACE = 1,
  PIPE_AFTER_STOP = 0x100 /* added to one of these, since 1.2: a stop does not end this writer */
};
/* Objects by URI: an absolute path, file:///path, gs://bucket/object; with the host's credentials. Readers
 * and writers may be used by one thread at a time each, and end with the call at the latest. */
typedef struct pipe_storage_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [any] PIPE_NOT_FOUND is an answer: there is no such object. `bytes` may be null. */
  pipe_code (*stat)(void* ctx, pipe_text uri, uint64_t* bytes);
  /* [any] Opens an object for reading from `offset` on. */
  pipe_code (*open)(void* ctx, pipe_text uri, uint64_t offset, pipe_reader** reader);
  /* [one] At most `size` bytes; *got is 0 at the end, and only there. */
  pipe_code (*read)(pipe_reader* reader, void* out, size_t size, size_t* got);
  void (*close)(pipe_reader* reader);
  /* [any] Begins an object that nobody sees before it is committed. */
  pipe_code (*create)(void* ctx, pipe_text uri, uint32_t condition, pipe_writer** writer);
  /* [one] Takes all bytes, or fails; after a failure only discard may follow. */
  pipe_code (*append)(pipe_writer* writer, const void* bytes, size_t size);
  /* [one] Makes the object visible and durable as a whole. The writer is gone afterwards, also when it fails.
   */
  pipe_code (*commit)(pipe_writer* writer);
  /* [one] The object never existed; the writer is gone. */
  void (*discard)(pipe_writer* writer);
  /* [any] Calls `visit` for every object below `uri`, by name, which is relative to it; another answer than 0
   * ends it. */
  pipe_code (*list)(void* ctx, pipe_text uri, int32_t (*visit)(void* user, pipe_text name, uint64_t bytes),
                    void* user);
  /* [any] Copies the message of the calling thread's last failure here, cut off at `size`; gives its whole
   * length. */
  size_t (*last_error)(void* ctx, char* out, size_t size);
  /* [any] Since 1.2. OK also where there was no such object. */
  pipe_code (*remove)(void* ctx, pipe_text uri);
} pipe_storage_1;

#define PIPE_PIPELINE_1 "pipe.pipeline/1" /* since 1.4, during a command */
typedef struct pipe_pipeline_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [one] Reads the pipeline file that `request` names, and calls `take` once with the stages of this plugin
   * in it. PIPE_INVALID_ARGUMENT where it has mistakes, which are told. */
  pipe_code (*read)(void* ctx, pipe_text request, void (*take)(void* user, pipe_text json), void* user);
} pipe_pipeline_1;

/* ---- Offered by a plugin: pipe_plugin.extension -------------------------------------------------------- */

#define PIPE_COMMANDS_1 "pipe.commands/1"
typedef struct pipe_commands_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [one] Runs the command argv[0], one of those that describe names. Gives the exit code. argv[argc] is
   * null. */
  int32_t (*run)(const pipe_call* call, int32_t argc, const char* const* argv);
} pipe_commands_1;

#define PIPE_PREPARE_1 "pipe.prepare/1" /* since 1.1 */
typedef struct pipe_prepare_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] Looks whether this machine has what `run` needs beside its inputs: programs, environments, devices.
   * Asked before a run starts anything, with the request of `check`; may read, changes nothing. Since 1.4 the
   * request of `run -n` has `dry_run`. */
  pipe_code (*prepare)(const pipe_call* call, pipe_text request);
} pipe_prepare_1;

#ifdef __cplusplus
}
#endif
