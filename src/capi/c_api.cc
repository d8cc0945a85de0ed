// The C interface over the C++ one. No exception leaves it.
#include "quire/c_api.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "quire/engine.h"

using quire::api::AsyncEngine;
using quire::api::Code;
using quire::api::Completion;
using quire::api::Options;
using quire::api::Output;
using quire::api::Prompt;
using quire::api::Status;
using quire::api::TokenId;

// NOLINTBEGIN(readability-identifier-naming): the names of the C interface
struct quire_options {
  Options options;
};
struct quire_error {
  Status status;
};
struct quire_engine {
  AsyncEngine engine;
};
// NOLINTEND(readability-identifier-naming)

namespace {

static_assert(static_cast<int>(Code::kInternal) == QUIRE_INTERNAL);
static_assert(static_cast<int>(quire::api::FinishReason::kError) == QUIRE_FINISH_ERROR);
static_assert(static_cast<int>(quire::api::FinishReason::kRepetition) == QUIRE_FINISH_REPETITION);
static_assert(sizeof(TokenId) == sizeof(int32_t));

// Puts the failure where the caller wants it and gives its code.
quire_code Report(Status status, quire_error** error) {
  const auto code = static_cast<quire_code>(status.code());
  if (error != nullptr) {
    *error = status.ok() ? nullptr : new quire_error{std::move(status)};
  }
  return code;
}

// Runs `function`, turning what is thrown (memory, threads) into a failure.
template <typename F>
Status Guard(const F& function) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    return Status(Code::kInternal, thrown.what());
  }
}

Status Missing(const char* argument) {
  return Status(Code::kInvalidArgument, std::string(argument) + ": must not be null");
}

Options OrNone(const quire_options* options) {
  return options == nullptr ? Options() : options->options;
}

void Tell(const Output& output, const Completion* answer, bool is_last, quire_output_fn callback,
          void* user_data) {
  quire_output told = {};
  told.request_id = output.request_id.c_str();
  told.text = answer == nullptr ? "" : answer->text.c_str();
  if (answer != nullptr) {
    told.index = answer->index;
    told.token_ids = answer->token_ids.data();
    told.num_token_ids = answer->token_ids.size();
    told.finish_reason = static_cast<quire_finish_reason>(answer->finish_reason);
  }
  told.is_finished = output.is_finished && is_last ? 1 : 0;
  told.code = static_cast<quire_code>(output.status.code());
  told.message = output.status.message().c_str();
  callback(&told, user_data);
}

void TellAll(const Output& output, quire_output_fn callback, void* user_data) {
  if (output.completions.empty()) return Tell(output, nullptr, true, callback, user_data);
  for (const Completion& answer : output.completions) {
    Tell(output, &answer, &answer == &output.completions.back(), callback, user_data);
  }
}

Status Submit(quire_engine* engine, const char* request_id, const Prompt& prompt,
              const quire_options* sampling, quire_output_fn callback, void* user_data) {
  if (engine == nullptr) return Missing("engine");
  if (request_id == nullptr) return Missing("request_id");
  if (callback == nullptr) return Missing("callback");
  return engine->engine.Submit(
      request_id, prompt, OrNone(sampling),
      [callback, user_data](const Output& output) { TellAll(output, callback, user_data); });
}

}  // namespace

int quire_c_api_version(void) { return QUIRE_C_API_VERSION; }
const char* quire_version(void) { return quire::api::Version(); }

quire_options* quire_options_new(void) {
  try {
    return std::make_unique<quire_options>().release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void quire_options_set(quire_options* options, const char* name, const char* value) {
  if (options == nullptr || name == nullptr || value == nullptr) return;
  try {
    options->options.Set(name, value);
  } catch (const std::exception&) {  // out of memory: the option stays as it was
  }
}

void quire_options_free(quire_options* options) {
  const std::unique_ptr<quire_options> owned(options);
}

quire_code quire_error_code(const quire_error* error) {
  return error == nullptr ? QUIRE_OK : static_cast<quire_code>(error->status.code());
}
const char* quire_error_message(const quire_error* error) {
  return error == nullptr ? "" : error->status.message().c_str();
}
void quire_error_free(quire_error* error) { const std::unique_ptr<quire_error> owned(error); }

quire_engine* quire_engine_new(const char* model, const quire_options* options,
                               quire_error** error) {
  quire_engine* made = nullptr;
  const Status status = Guard([&]() -> Status {
    if (model == nullptr) return Missing("model");
    auto engine = AsyncEngine::Create(model, OrNone(options));
    if (!engine.ok()) return engine.status();
    made = new quire_engine{std::move(*engine)};
    return {};
  });
  Report(status, error);
  return made;
}

void quire_engine_free(quire_engine* engine) { const std::unique_ptr<quire_engine> owned(engine); }

quire_code quire_engine_submit(quire_engine* engine, const char* request_id, const char* prompt,
                               const quire_options* sampling, quire_output_fn callback,
                               void* user_data, quire_error** error) {
  return Report(Guard([&]() -> Status {
                  if (prompt == nullptr) return Missing("prompt");
                  return Submit(engine, request_id, Prompt(prompt), sampling, callback, user_data);
                }),
                error);
}

// NOLINTNEXTLINE(readability-function-size): a C function has no other way to take options
quire_code quire_engine_submit_ids(quire_engine* engine, const char* request_id,
                                   const int32_t* token_ids, size_t num_token_ids,
                                   const quire_options* sampling, quire_output_fn callback,
                                   void* user_data, quire_error** error) {
  return Report(Guard([&]() -> Status {
                  if (token_ids == nullptr) return Missing("token_ids");
                  const Prompt prompt(std::vector<TokenId>(token_ids, token_ids + num_token_ids));
                  return Submit(engine, request_id, prompt, sampling, callback, user_data);
                }),
                error);
}

void quire_engine_drain(quire_engine* engine) {
  if (engine != nullptr) engine->engine.Drain();
}

void quire_engine_abort(quire_engine* engine, const char* request_id) {
  if (engine == nullptr || request_id == nullptr) return;
  (void)Guard([&]() -> Status {
    engine->engine.Abort(request_id);
    return {};
  });
}
