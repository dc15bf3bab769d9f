// A question by the sans-IO API: OkHttp has the network, the run machine says what to do with it.
package hello

import dev.stepwell.*
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody

fun ask(question: String, baseUrl: String, client: OkHttpClient, show: (String) -> Unit) {
    RunMachine(RunConfig("openai-compatible", "any", baseUrl = baseUrl), threadId = "chat").use { run ->
        fun tell(outputs: Outputs): Outputs {
            for (event in outputs.events) if (event is Event.TextMessageContent) show(event.delta)
            run.outcome()?.problem?.let { error("${it.message}; ${it.advice}") }
            return outputs
        }
        val started = tell(run.start(Start(runId = "run-1", text = question)))
        val (id, wanted) = started.effects.filterIsInstance<Effect.OpenStream>().single()
        val request = Request.Builder().url(wanted.url).post(wanted.body.toRequestBody())
        for (header in wanted.headers) request.header(header.name, header.value)
        client.newCall(request.build()).execute().use { response ->
            val body = response.body.source()
            if (!response.isSuccessful) error("the provider says ${response.code}: ${body.readUtf8()}")
            tell(run.opened(id, response.header("content-type")))
            while (!body.exhausted()) tell(run.receive(id, body.readByteArray(body.buffer.size)))
            tell(run.ended(id))
        }
    }
}
