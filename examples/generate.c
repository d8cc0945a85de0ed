/* Streams one answer through the C interface.

     generate_c MODEL [PROMPT] */
#include <stdio.h>
#include <string.h>

#include "quire/c_api.h"

static void hear(const quire_output* output, void* user_data) {
  volatile int* state = user_data; /* 0: running, 1: finished, 2: failed */
  fputs(output->text, stdout);
  if (!output->is_finished) return;
  if (output->code != QUIRE_OK) fprintf(stderr, "%s\n", output->message);
  *state = output->code == QUIRE_OK ? 1 : 2;
}

int main(int argc, char** argv) {
  volatile int state = 0;
  quire_error* error = NULL;
  quire_engine* engine;
  quire_options* sampling;
  if (argc < 2) {
    fprintf(stderr, "usage: generate_c MODEL [PROMPT]\n");
    return 2;
  }
  engine = quire_engine_new(argv[1], NULL, &error);
  if (engine == NULL) {
    fprintf(stderr, "%s\n", quire_error_message(error));
    quire_error_free(error);
    return 1;
  }
  sampling = quire_options_new();
  quire_options_set(sampling, "temperature", "0");
  quire_options_set(sampling, "max_tokens", "16");
  if (quire_engine_submit(engine, "one", argc > 2 ? argv[2] : "The capital of France is", sampling,
                          hear, (void*)&state, &error) != QUIRE_OK) {
    fprintf(stderr, "%s\n", quire_error_message(error));
    quire_error_free(error);
    state = 2;
  }
  quire_options_free(sampling);
  quire_engine_drain(engine); /* until all answers have been heard */
  quire_engine_free(engine);
  fputs("\n", stdout);
  return state == 1 ? 0 : 1;
}
