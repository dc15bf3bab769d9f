// A question by the sans-IO door: OkHttp has the network, the run machine says what to do with it.
package hello

import dev.stepwell.*
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody

fun ask(question: String, baseUrl: String, client: OkHttpClient, show: (String) -> Unit) {
    RunMachine(RunConfig("openai-compatible", "any", baseUrl = baseUrl), threadId = "chat").use { run ->
        val waiting = ArrayDeque(listOf(run.start(Start(runId = "run-1", text = question))))
        while (waiting.isNotEmpty()) {
            val outputs = waiting.removeFirst()
            for (event in outputs.events) if (event is Event.TextMessageContent) show(event.delta)
            for (effect in outputs.effects.filterIsInstance<Effect.OpenStream>()) {
                val request = Request.Builder().url(effect.request.url).post(effect.request.body.toRequestBody())
                for (header in effect.request.headers) request.header(header.name, header.value)
                val response = client.newCall(request.build()).execute()
                response.body.source().use { body ->
                    if (!response.isSuccessful) error("the provider says ${response.code}: ${body.readUtf8()}")
                    waiting += run.opened(effect.id, response.header("content-type"))
                    while (!body.exhausted()) waiting += run.receive(effect.id, body.readByteArray(body.buffer.size))
                    waiting += run.ended(effect.id)
                }
            }
        }
    }
}
