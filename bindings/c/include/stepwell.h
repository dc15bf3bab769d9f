/* Stepwell's sans-IO API for C and for languages that call C: a turn between a user, a language model and tools, as a
 * state machine without IO. Arguments and results are JSON, in camel case; the forms are those of the TypeScript
 * types of the npm package (shapes.d.ts). All texts are UTF-8 with a length, without a NUL at their end. */
#ifndef STEPWELL_H
#define STEPWELL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text that the library returned, to be freed with stepwell_text_free. */
typedef struct StepwellText {
  uint8_t *data;
  size_t length;
} StepwellText;

/* A run. Any thread may use it, one at a time; others wait. */
typedef struct StepwellMachine StepwellMachine;

/* The runs of an app: which run owns which thread, which thread the user looks at, and which are unread. The registry
 * starts nothing, and any thread may use it. */
typedef struct StepwellRegistry StepwellRegistry;

/* The contents of a chat screen, built from stored turns, the actions of the app and the events of its turns. Any thread
 * may use it, one at a time; others wait. */
typedef struct StepwellChat StepwellChat;

/* The version of the library, such as 0.1.0. */
StepwellText stepwell_version(void);

void stepwell_text_free(StepwellText text);

/* A new run: {"config", "threadId", "history", "sharedState"}. A stored one: {"config", "restore": SNAPSHOT} in the process that
 * stored it, {"config", "revive": SNAPSHOT, "nowMs"} in a later one; take stepwell_machine_poll first. With
 * "journal": true a new or a revived run records its inputs: the result of a call then has "journal" next to its
 * "outputs", complete lines, for the program's `stepwell replay`. They hold the whole conversation, but no key. NULL if
 * the run is refused; refusal, unless it is NULL, then holds {"refused": {"kind", "reason", "advice"}}. */
StepwellMachine *stepwell_machine_make(const uint8_t *json, size_t length, StepwellText *refusal);

void stepwell_machine_free(StepwellMachine *machine);

/* An input: {"input": "start", "start": {"runId", "text"}}, {"input": "opened", "effect", "contentType"}, … The time
 * is in milliseconds since the epoch. Returns {"outputs": {"events", "effects", "wakeAtMs"}}, all of its outputs, or
 * {"refused": …}, and then nothing has changed. */
StepwellText stepwell_machine_call(const StepwellMachine *machine, const uint8_t *json, size_t length, uint64_t now_ms);

/* Bytes of the stream that the effect opened, in chunks as the transport gave them, cut anywhere. Returns what
 * stepwell_machine_call returns. */
StepwellText stepwell_machine_receive(const StepwellMachine *machine, const uint8_t *effect, size_t effect_length,
                                      const uint8_t *body, size_t body_length, uint64_t now_ms);

/* Takes the outputs that wait without an input: after a restore. */
StepwellText stepwell_machine_poll(const StepwellMachine *machine);

/* A question: {"ask": "snapshot"}, {"ask": "partialArguments", "toolCallId"}, … Returns {"answer": …} or
 * {"refused": …}. */
StepwellText stepwell_machine_ask(const StepwellMachine *machine, const uint8_t *json, size_t length);

/* Closes the journal, because the run is over or the app leaves it: {"answer": LINES}, the last ones. */
StepwellText stepwell_machine_end_journal(const StepwellMachine *machine);

/* A registry with no runs, for a NULL; otherwise one restored from what {"call": "snapshot"} returned. NULL if the
 * snapshot is refused; refusal, unless it is NULL, then holds the reason. */
StepwellRegistry *stepwell_registry_make(const uint8_t *snapshot, size_t length, StepwellText *refusal);

void stepwell_registry_free(StepwellRegistry *registry);

/* {"call": "register", "thread": {"thread"}}, {"call": "replace", "old"}, {"call": "unreadThreads"}, … Returns
 * {"answer": …} or {"refused": …}, of the kind "stale" where another run has taken the handle's thread. */
StepwellText stepwell_registry_call(const StepwellRegistry *registry, const uint8_t *json, size_t length);

/* A chat: {}, {"turns", "turn"} to continue stored turns, or {"messages"} to continue a conversation; with {"tools"}, the
 * definitions of the agent's tools. NULL if that is refused; refusal, unless it is NULL, then holds the reason. */
StepwellChat *stepwell_chat_make(const uint8_t *json, size_t length, StepwellText *refusal);

void stepwell_chat_free(StepwellChat *chat);

/* {"chat": "begin", "turn", "message"}, {"chat": "apply", "events"}, {"chat": "update"}, {"chat": "state"}, … at a time in
 * milliseconds since the epoch. Returns {"answer": …} or {"refused": …}. */
StepwellText stepwell_chat_call(const StepwellChat *chat, const uint8_t *json, size_t length, uint64_t now_ms);

/* Calls without a run. {"call": "transcript", "turns", "turn"} is answered with {"messages", "sharedState"}, which the
 * next run begins with after the turn, or after the one that ends last; {"call": "pending", "turn"} with what a stored turn
 * waits for; {"call": "title", "messages"} with the title of a thread; {"call": "notStored", "message"} with the outcome of a turn that the store did not take, "noInstructions" with
 * that of one whose instructions could not be made, {"call": "toolFailed", "tool", "message"} with that of one that the host
 * ended because a tool is broken, and {"call": "busy"} with that of one that began while another turn of
 * its thread was under way; {"call": "newest", "overflow": {"tokens", "window", "messages"}, "part"} with the ids of the
 * newest messages that fill no more than this part of the window, for the overflow of the effect "trimContext";
 * {"call": "part", "of": {"kind": "image", "data", "mediaType", "name"}}, with "url" instead of "data", or {"file",
 * "provider", "mediaType"}, with a content part of a message. */
StepwellText stepwell_session_call(const uint8_t *json, size_t length);

#ifdef __cplusplus
}
#endif

#endif
