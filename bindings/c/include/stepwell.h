/* Stepwell's sans-IO API for C and for languages that call C: a turn between a user, a language model and tools, as a
 * state machine without IO. What goes in and comes out is JSON, in camel case; the forms are those of the TypeScript
 * types of the npm package (shapes.d.ts). All texts are UTF-8 with a length, without a NUL at their end. */
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

/* Which run owns which thread, which thread the user looks at, and which are unread. It starts nothing, and may be used
 * from any thread. */
typedef struct StepwellRegistry StepwellRegistry;

/* The version of the library, such as 0.1.0. */
StepwellText stepwell_version(void);

void stepwell_text_free(StepwellText text);

/* A new run: {"config", "threadId", "history", "sharedState"}. A stored one: {"config", "restore": SNAPSHOT} in the process that
 * stored it, {"config", "revive": SNAPSHOT, "nowMs"} in a later one; take stepwell_machine_poll first. With
 * "journal": true a new or a revived run writes its inputs down: what a call gives then has "journal" beside its
 * "outputs", whole lines, for the program's `stepwell replay`. They hold all that is said, but no key. NULL if that is refused; refusal, unless it is NULL, then holds {"refused": {"kind", "reason", "advice"}}. */
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

/* Closes the journal, since the run is over or the app leaves it: {"answer": LINES}, the last ones. */
StepwellText stepwell_machine_end_journal(const StepwellMachine *machine);

/* A registry with no runs, for a NULL; else one of what {"call": "snapshot"} gave. NULL if that is refused; refusal, unless
 * it is NULL, then holds why. */
StepwellRegistry *stepwell_registry_make(const uint8_t *snapshot, size_t length, StepwellText *refusal);

void stepwell_registry_free(StepwellRegistry *registry);

/* {"call": "register", "thread": {"thread"}}, {"call": "replace", "old"}, {"call": "unreadThreads"}, … Gives
 * {"answer": …} or {"refused": …}, of the kind "stale" where another run has taken the handle's thread. */
StepwellText stepwell_registry_call(const StepwellRegistry *registry, const uint8_t *json, size_t length);

/* What an app asks without a run: {"call": "conversation", "turns", "turn"} is answered with {"messages",
 * "sharedState"}, what the next run begins with after the turn, or after the one that ends last; {"call": "title",
 * "messages"} with what a thread is called; {"call": "notStored", "message"} with the outcome of a turn that the store did
 * not take, "noInstructions" with that of one whose instructions could not be made, and {"call": "busy"} with that of one that
 * began while another turn of its thread was under way; {"call": "newest", "overflow": {"tokens", "window", "messages"}, "part"} with the ids of the newest messages
 * that fill no more than this part of the window, of what the effect "trimContext" says; {"call": "part", "of": {"kind":
 * "image", "data", "mediaType", "name"}}, with "url" in the place of "data", or {"file", "provider", "mediaType"}, with a content part of a
 * message. */
StepwellText stepwell_session_call(const uint8_t *json, size_t length);

#ifdef __cplusplus
}
#endif

#endif
