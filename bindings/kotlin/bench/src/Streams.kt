package dev.stepwell.bench

import kotlin.random.Random
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonPrimitive

/** A provider's answer as it comes over the wire, and the text in it. */
class Stream(val bytes: ByteArray, val text: String)

private val PIECES = listOf(
    "the ", "qui", "ck b", "rown", " fox", "s, a", "nd\\n", "über", " naï", "ve “", "漢字 ", "かな", "🙂👍", "👩‍🚀",
    " \\\"q\\\"", "\\\\n {", "}; ", "1234", "é ", "стро",
)

/** The piece as it is between the quotes of JSON. */
private fun said(piece: String) = Json.parseToJsonElement("\"$piece\"").jsonPrimitive.content

private fun stream(deltas: Int, before: String, after: String, frame: (String) -> String): Stream {
    val random = Random(1)
    val text = StringBuilder()
    val body = buildString {
        append(before)
        repeat(deltas) {
            val piece = PIECES.random(random)
            text.append(said(piece))
            append(frame(piece))
        }
        append(after)
    }
    return Stream(body.toByteArray(), text.toString())
}

/** OpenAI's Chat Completions, with all that it puts around a piece. */
fun chatStream(deltas: Int): Stream {
    fun frame(choices: String, usage: String = "null") =
        """data: {"id":"chatcmpl-bench0000000000000000000000","object":"chat.completion.chunk","created":1700000000,""" +
            """"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_0123456789",""" +
            """"choices":[$choices],"usage":$usage}""" + "\n\n"

    fun choice(delta: String, finish: String = "null") =
        frame("""{"index":0,"delta":$delta,"logprobs":null,"finish_reason":$finish}""")
    return stream(
        deltas,
        choice("""{"role":"assistant","content":"","refusal":null}"""),
        choice("{}", "\"stop\"") + frame("", """{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}""") +
            "data: [DONE]\n\n",
    ) { choice("""{"content":"$it"}""") }
}

/** Anthropic's Messages. */
fun messagesStream(deltas: Int): Stream {
    fun frame(type: String, rest: String) = "event: $type\ndata: {\"type\":\"$type\"$rest}\n\n"
    return stream(
        deltas,
        frame(
            "message_start",
            ""","message":{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-20250514",""" +
                """"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,""" +
                """"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}""",
        ) + frame("content_block_start", ""","index":0,"content_block":{"type":"text","text":""}"""),
        frame("content_block_stop", ""","index":0""") +
            frame("message_delta", ""","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20}""") +
            frame("message_stop", ""),
    ) { frame("content_block_delta", ""","index":0,"delta":{"type":"text_delta","text":"$it"}""") }
}
