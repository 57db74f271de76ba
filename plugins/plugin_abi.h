/* The interface between pipe and its plugins, in C99. A plugin needs only this file; it includes no other
 * file of pipe. ABI.md, beside it, has the rules.
 *
 * A tag names the threads that may call a function: [one] the called thread, or one other thread at a time
 * on its behalf; [any] any thread, also several at once. Arguments never change their owner: the receiver
 * of a text copies it before it returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_ABI_MAJOR 1u /* a plugin with another number is refused */
#define PIPE_ABI_MINOR 9u /* raised for each new member of a struct or an answer, and each new extension */

#define PIPE_EXPORT __attribute__((visibility("default")))

/* Bytes; UTF-8 unless documented otherwise. Not NUL-terminated. `data` may be null if `size` is 0. */
typedef struct pipe_text {
  const char* data;
  size_t size;
} pipe_text;

/* The result of a call. Values that are not listed count as PIPE_INTERNAL. */
typedef int32_t pipe_code;
enum {
  PIPE_OK = 0,
  PIPE_CANCELLED = 1,        /* pipe_call.stopped returned non-zero */
  PIPE_INVALID_ARGUMENT = 2, /* the pipeline file or the command is wrong */
  PIPE_NOT_FOUND = 3,
  PIPE_ALREADY_EXISTS = 4,
  PIPE_PERMISSION_DENIED = 5,
  PIPE_FAILED_PRECONDITION = 6, /* the current state (files, servers, machine) forbids it */
  PIPE_DATA_LOSS = 7,           /* bytes are damaged; a retry gives the same */
  PIPE_UNAVAILABLE = 8,         /* temporary: a retry may succeed */
  PIPE_RESOURCE_EXHAUSTED = 9,  /* disk or memory is full */
  PIPE_UNIMPLEMENTED = 10,
  PIPE_INTERNAL = 11 /* a bug */
};

enum { PIPE_LOG_INFO = 0, PIPE_LOG_WARNING = 1, PIPE_LOG_ERROR = 2 };

/* One call of the host into the plugin. The host owns it. It is valid, with all pointers obtained from it,
 * until the called function returns. */
typedef struct pipe_call {
  uint32_t struct_size; /* of the host's struct: members that end beyond it do not exist */
  uint32_t abi_minor;   /* the host's */
  void* ctx;            /* the first argument of every function below */
  /* [any] Non-zero: the call is cancelled; return PIPE_CANCELLED soon. Call it at least twice a second. */
  int32_t (*stopped)(void* ctx);
  /* [one] Gives the answer, a JSON text; a later call replaces an earlier answer. */
  void (*reply)(void* ctx, pipe_text json);
  /* [any] Gives the reason before the function returns another code than PIPE_OK: where, what, why, what to
   * do. The first call counts. */
  void (*fail)(void* ctx, pipe_text message);
  /* [any] Shows the user a line; `level` is PIPE_LOG_... */
  void (*log)(void* ctx, int32_t level, pipe_text line);
  /* [any] Returns the host's extension `id`, such as PIPE_STORAGE_1; null: it has none. */
  const void* (*extension)(void* ctx, const char* id);
} pipe_call;

/* A plugin. Constant; it exists as long as the library is loaded. */
typedef struct pipe_plugin {
  uint32_t struct_size; /* sizeof(pipe_plugin) */
  uint32_t abi_major;   /* PIPE_ABI_MAJOR. The first two members never move in any version. */
  uint32_t abi_minor;   /* PIPE_ABI_MINOR */
  uint32_t reserved;    /* 0 */
  const char* name;     /* [a-z][a-z0-9_]*, at most 64 bytes */
  const char* version;  /* for people, such as "1.4.2" */
  /* [one] Replies with the plugin's stages and commands. Always gives the same answer; reads nothing. */
  pipe_code (*describe)(const pipe_call* call);
  /* [any] Checks the configuration in `request` for rules that the table of keys cannot express. Reads
   * nothing. May be null. */
  pipe_code (*check)(const pipe_call* call, pipe_text request);
  /* [any] Replies {"memory": bytes}, the memory that the stage in `request` will need. Null: a negligible
   * amount. */
  pipe_code (*forecast)(const pipe_call* call, pipe_text request);
  /* [any, each job on a thread of its own, which may block] Runs the job in `request` and replies with its
   * objects and facts. May be null if the plugin has no stages. */
  pipe_code (*run)(const pipe_call* call, pipe_text request);
  /* [any] Returns the plugin's extension `id`, such as PIPE_COMMANDS_1; null: it has none. May be null. */
  const void* (*extension)(const char* id);
} pipe_plugin;

/* The only symbol that a plugin exports. */
PIPE_EXPORT const pipe_plugin* pipe_plugin_entry(void);
typedef const pipe_plugin* (*pipe_plugin_entry_function)(void);

/* ---- Extensions of the host, from pipe_call.extension ------------------------------------------------ */

#define PIPE_EVENTS_1 "pipe.events/1"
typedef struct pipe_events_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [any] Reports an event, a JSON object. PIPE_INVALID_ARGUMENT: `json` is not an event (ABI.md). */
  pipe_code (*emit)(void* ctx, pipe_text json);
} pipe_events_1;

#define PIPE_STORAGE_1 "pipe.storage/1"
typedef struct pipe_reader pipe_reader; /* owned by the host, as is pipe_writer */
typedef struct pipe_writer pipe_writer;
enum {
  PIPE_CREATE_ONLY = 0, /* commit fails with PIPE_ALREADY_EXISTS if the object exists */
  PIPE_REPLACE = 1,
  PIPE_AFTER_STOP = 0x100 /* a flag for the above, since 1.2: a stop does not end this writer */
};
/* Reads and writes objects with the host's credentials. A URI is an absolute path, file:///path or
 * gs://bucket/object. One thread at a time may use a reader or a writer; the host closes those that are
 * still open when the call ends. */
typedef struct pipe_storage_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [any] Gives the size of an object. PIPE_NOT_FOUND is a normal result: no such object. `bytes` may be
   * null. */
  pipe_code (*stat)(void* ctx, pipe_text uri, uint64_t* bytes);
  /* [any] Opens an object for reading from `offset` on. */
  pipe_code (*open)(void* ctx, pipe_text uri, uint64_t offset, pipe_reader** reader);
  /* [one] Reads at most `size` bytes; `size` must be above 0. On success, *got is 0 only at the end. */
  pipe_code (*read)(pipe_reader* reader, void* out, size_t size, size_t* got);
  void (*close)(pipe_reader* reader);
  /* [any] Begins an object, which is invisible until it is committed. */
  pipe_code (*create)(void* ctx, pipe_text uri, uint32_t condition, pipe_writer** writer);
  /* [one] Appends all bytes, or fails; after a failure only discard may be called. */
  pipe_code (*append)(pipe_writer* writer, const void* bytes, size_t size);
  /* [one] Makes the whole object visible and durable. Destroys the writer, also on failure. */
  pipe_code (*commit)(pipe_writer* writer);
  /* [one] Drops the uncommitted object and destroys the writer. */
  void (*discard)(pipe_writer* writer);
  /* [any] Calls `visit` for every object below `uri`, sorted by name; names are relative to `uri`. The list
   * ends early if `visit` returns non-zero. */
  pipe_code (*list)(void* ctx, pipe_text uri, int32_t (*visit)(void* user, pipe_text name, uint64_t bytes),
                    void* user);
  /* [any] Copies the message of the calling thread's last failure to `out`, truncated to `size`; returns
   * its full length. */
  size_t (*last_error)(void* ctx, char* out, size_t size);
  /* [any] Since 1.2. Removes an object; PIPE_OK also if it does not exist. */
  pipe_code (*remove)(void* ctx, pipe_text uri);
  /* [any] Since 1.6. Calls `take` once with the bytes and the version of an object; a stop does not end it
   * (since 1.7). The version is a text that changes with every write; it is never newer than the bytes.
   * PIPE_NOT_FOUND is a normal result. PIPE_RESOURCE_EXHAUSTED: the object has more than `most` bytes. */
  pipe_code (*read_whole)(void* ctx, pipe_text uri, uint64_t most,
                          void (*take)(void* user, pipe_text bytes, pipe_text version), void* user);
  /* [any] Since 1.6. Writes a small object as a whole if its version is `known`, or creates it if `known` is
   * empty, and calls `take` once with the new version. `flags`: 0 or PIPE_AFTER_STOP. PIPE_ALREADY_EXISTS,
   * PIPE_FAILED_PRECONDITION: the object has another version, or none; nothing changed. PIPE_CANCELLED: also
   * if the run no longer holds the location. */
  pipe_code (*write_whole)(void* ctx, pipe_text uri, pipe_text bytes, pipe_text known, uint32_t flags,
                           void (*take)(void* user, pipe_text version), void* user);
} pipe_storage_1;

#define PIPE_PIPELINE_1 "pipe.pipeline/1" /* since 1.4, during a command */
typedef struct pipe_pipeline_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [one] Reads the pipeline file named in `request` and calls `take` once with its stages of this plugin.
   * PIPE_INVALID_ARGUMENT: the file has mistakes; the host shows them. */
  pipe_code (*read)(void* ctx, pipe_text request, void (*take)(void* user, pipe_text json), void* user);
} pipe_pipeline_1;

#define PIPE_METADATA_1 "pipe.metadata/1" /* since 1.7 */
typedef struct pipe_metadata_1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* [any] Calls `take` once with a value of the machine's metadata server, e.g. "instance/preempted". Takes
   * at most 1 s. PIPE_NOT_FOUND is a normal result: no such value, or no server. PIPE_UNAVAILABLE: there is a
   * server, and it gave no whole answer. */
  pipe_code (*read)(void* ctx, pipe_text path, void (*take)(void* user, pipe_text value), void* user);
} pipe_metadata_1;

/* ---- Extensions of the plugin, from pipe_plugin.extension -------------------------------------------- */

#define PIPE_COMMANDS_1 "pipe.commands/1"
typedef struct pipe_commands_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [one] Runs the command argv[0], one that `describe` lists; returns its exit code. argv[argc] is null. */
  int32_t (*run)(const pipe_call* call, int32_t argc, const char* const* argv);
} pipe_commands_1;

#define PIPE_PREPARE_1 "pipe.prepare/1" /* since 1.1 */
typedef struct pipe_prepare_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] Checks that this machine has all that `run` needs besides its inputs: programs, environments,
   * devices. Called before a run starts anything, with the request of `check`; may read, changes nothing.
   * Since 1.4 the request has `dry_run` for `run -n`, and since 1.9 `stage` for `run`. */
  pipe_code (*prepare)(const pipe_call* call, pipe_text request);
} pipe_prepare_1;

#define PIPE_HOSTS_1 "pipe.hosts/1" /* since 1.7 */
typedef struct pipe_hosts_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] Replies {"host": K, "hosts": N}: this machine is number K, from 0, of the N machines that run the
   * job in `request` together. Called before the run takes a lease, with the request of `check`; may read
   * the environment and pipe.metadata/1, changes nothing. */
  pipe_code (*find)(const pipe_call* call, pipe_text request);
} pipe_hosts_1;

#define PIPE_EXPAND_1 "pipe.expand/1" /* since 1.8 */
typedef struct pipe_expand_1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any] Replies with the keys that the stage in `request` stands for, and with its named inputs that it
   * does not read. Called for each stage whenever the pipeline file is read, before `check`; reads nothing.
   */
  pipe_code (*expand)(const pipe_call* call, pipe_text request);
} pipe_expand_1;

#ifdef __cplusplus
}
#endif
