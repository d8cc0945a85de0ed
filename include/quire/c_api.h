/* The C interface of Quire. Handles are opaque; strings are UTF-8 and end with a zero byte. */
/* NOLINTBEGIN(readability-identifier-naming): the names of a C interface */
#ifndef QUIRE_C_API_H_
#define QUIRE_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when functions are added; the major part (in thousands) when one changes. */
#define QUIRE_C_API_VERSION 1000

typedef struct quire_options quire_options;
typedef struct quire_engine quire_engine;
typedef struct quire_error quire_error;

typedef enum quire_code {
  QUIRE_OK = 0,
  QUIRE_CANCELLED = 1,
  QUIRE_INVALID_ARGUMENT = 2,
  QUIRE_NOT_FOUND = 3,
  QUIRE_RESOURCE_EXHAUSTED = 4,
  QUIRE_FAILED_PRECONDITION = 5,
  QUIRE_UNIMPLEMENTED = 6,
  QUIRE_DATA_LOSS = 7,
  QUIRE_UNAVAILABLE = 8,
  QUIRE_INTERNAL = 9
} quire_code;

typedef enum quire_finish_reason {
  QUIRE_FINISH_NONE = 0,
  QUIRE_FINISH_STOP = 1,
  QUIRE_FINISH_LENGTH = 2,
  QUIRE_FINISH_ABORT = 3,
  QUIRE_FINISH_ERROR = 4,
  QUIRE_FINISH_REPETITION = 5
} quire_finish_reason;

/* The version that the library was built with; compare it with QUIRE_C_API_VERSION. */
int quire_c_api_version(void);
/* The program's version, "0.1.0". */
const char* quire_version(void);

/* Options of the engine or of sampling, by name; see quire/config.h. Never fails before use. */
quire_options* quire_options_new(void);
void quire_options_set(quire_options* options, const char* name, const char* value);
void quire_options_free(quire_options* options);

/* What went wrong; freed by whoever got it. Functions that take `error` write null there when all
   went well; `error` itself may be null. */
quire_code quire_error_code(const quire_error* error);
const char* quire_error_message(const quire_error* error);
void quire_error_free(quire_error* error);

/* Loads a model and starts the engine's threads; null on failure. `options` may be null. */
quire_engine* quire_engine_new(const char* model, const quire_options* options,
                               quire_error** error);
/* Ends what still runs, waits for the threads and frees the engine. */
void quire_engine_free(quire_engine* engine);

/* What is new of one answer. Pointers are valid during the callback only. */
typedef struct quire_output {
  const char* request_id;
  int index; /* which of the prompt's n answers */
  const char* text;
  const int32_t* token_ids;
  size_t num_token_ids;
  quire_finish_reason finish_reason; /* of this answer */
  int is_finished;                   /* nothing more comes of the whole prompt */
  quire_code code;                   /* not QUIRE_OK: the prompt was refused or failed */
  const char* message;               /* then why, else "" */
} quire_output;

/* Called on a thread of the engine; hands on and returns. */
typedef void (*quire_output_fn)(const quire_output* output, void* user_data);

/* Hands in a text prompt; `sampling` may be null. Any thread, never blocks. On QUIRE_OK, `callback`
   hears outputs until one has is_finished set, which always comes. */
quire_code quire_engine_submit(quire_engine* engine, const char* request_id, const char* prompt,
                               const quire_options* sampling, quire_output_fn callback,
                               void* user_data, quire_error** error);
/* The same with token ids. */
quire_code quire_engine_submit_ids(quire_engine* engine, const char* request_id,
                                   const int32_t* token_ids, size_t num_token_ids,
                                   const quire_options* sampling, quire_output_fn callback,
                                   void* user_data, quire_error** error);
/* Waits until every prompt handed in has been heard to its end. Not in a callback. */
void quire_engine_drain(quire_engine* engine);
/* Ends a prompt; unknown ids are passed over. Any thread. */
void quire_engine_abort(quire_engine* engine, const char* request_id);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_C_API_H_ */
/* NOLINTEND(readability-identifier-naming) */
