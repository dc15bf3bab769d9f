/* Stepwell's sans-IO API for C and for languages that call C: a turn between a user, a language model and tools, as a
 * state machine without IO. What goes in and comes out is JSON, in camel case; the forms are those of the TypeScript
 * types in bindings/web/src/shapes.d.ts. All texts are UTF-8 with a length, without a NUL at their end. */
#ifndef STEPWELL_H
#define STEPWELL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text of the library's, to be freed with stepwell_text_free. */
typedef struct StepwellText {
  uint8_t *data;
  size_t length;
} StepwellText;

/* A run. It may be used from any thread, by one at a time; others wait. */
typedef struct StepwellMachine StepwellMachine;

/* The version of the library, such as 0.1.0. */
StepwellText stepwell_version(void);

void stepwell_text_free(StepwellText text);

/* A new run: {"config", "threadId", "history", "sharedState"}. A stored one: {"config", "restore": SNAPSHOT} in the process that
 * stored it, {"config", "revive": SNAPSHOT, "nowMs"} in a later one; take stepwell_machine_poll first. NULL if that
 * is refused; refusal, unless it is NULL, then holds {"refused": {"kind", "reason", "advice"}}. */
StepwellMachine *stepwell_machine_make(const uint8_t *json, size_t length, StepwellText *refusal);

void stepwell_machine_free(StepwellMachine *machine);

/* An input: {"input": "start", "start": {"runId", "text"}}, {"input": "opened", "effect", "contentType"}, … The time
 * is in milliseconds since the epoch. Gives {"outputs": {"events", "effects", "wakeAtMs"}}, all that came of it, or
 * {"refused": …}, and then nothing has changed. */
StepwellText stepwell_machine_call(const StepwellMachine *machine, const uint8_t *json, size_t length, uint64_t now_ms);

/* Bytes of the stream that the effect opened, as many as the transport gave, cut anywhere. Gives what
 * stepwell_machine_call gives. */
StepwellText stepwell_machine_receive(const StepwellMachine *machine, const uint8_t *effect, size_t effect_length,
                                      const uint8_t *body, size_t body_length, uint64_t now_ms);

/* What waits without an input: after a restore. */
StepwellText stepwell_machine_poll(const StepwellMachine *machine);

/* A question: {"ask": "snapshot"}, {"ask": "partialArguments", "toolCallId"}, … Gives {"answer": …} or
 * {"refused": …}. */
StepwellText stepwell_machine_ask(const StepwellMachine *machine, const uint8_t *json, size_t length);

#ifdef __cplusplus
}
#endif

#endif
