package dev.stepwell.bench

import com.anthropic.client.AnthropicClientImpl
import com.anthropic.helpers.MessageAccumulator
import com.anthropic.models.messages.MessageCreateParams
import com.openai.client.OpenAIClientImpl
import com.openai.helpers.ChatCompletionAccumulator
import com.openai.models.chat.completions.ChatCompletionCreateParams
import java.io.ByteArrayInputStream
import java.io.InputStream
import java.util.concurrent.CompletableFuture

// The official SDKs, with an HTTP client that answers each request with the same bytes from memory.

private class OpenAiMemory(private val bytes: ByteArray) : com.openai.core.http.HttpClient {
    override fun execute(
        request: com.openai.core.http.HttpRequest,
        requestOptions: com.openai.core.RequestOptions,
    ) = object : com.openai.core.http.HttpResponse {
        override fun statusCode() = 200

        override fun headers() = com.openai.core.http.Headers.builder().put("content-type", "text/event-stream").build()

        override fun body(): InputStream = ByteArrayInputStream(bytes)

        override fun close() = Unit
    }

    override fun executeAsync(
        request: com.openai.core.http.HttpRequest,
        requestOptions: com.openai.core.RequestOptions,
    ): CompletableFuture<com.openai.core.http.HttpResponse> = CompletableFuture.completedFuture(execute(request, requestOptions))

    override fun close() = Unit
}

private class AnthropicMemory(private val bytes: ByteArray) : com.anthropic.core.http.HttpClient {
    override fun execute(
        request: com.anthropic.core.http.HttpRequest,
        requestOptions: com.anthropic.core.RequestOptions,
    ) = object : com.anthropic.core.http.HttpResponse {
        override fun statusCode() = 200

        override fun headers() = com.anthropic.core.http.Headers.builder().put("content-type", "text/event-stream").build()

        override fun body(): InputStream = ByteArrayInputStream(bytes)

        override fun close() = Unit
    }

    override fun executeAsync(
        request: com.anthropic.core.http.HttpRequest,
        requestOptions: com.anthropic.core.RequestOptions,
    ): CompletableFuture<com.anthropic.core.http.HttpResponse> =
        CompletableFuture.completedFuture(execute(request, requestOptions))

    override fun close() = Unit
}

private fun openAi(bytes: ByteArray) = OpenAIClientImpl(
    com.openai.core.ClientOptions.builder().httpClient(OpenAiMemory(bytes)).apiKey("none").build(),
).chat().completions().createStreaming(
    ChatCompletionCreateParams.builder().model("bench").addUserMessage("Hi").build(),
)

fun openAiDeltas(bytes: ByteArray): String = openAi(bytes).use { response ->
    val text = StringBuilder()
    response.stream().forEach { chunk ->
        for (choice in chunk.choices()) choice.delta().content().ifPresent { text.append(it) }
    }
    text.toString()
}

fun openAiAccumulated(bytes: ByteArray): String = openAi(bytes).use { response ->
    val accumulator = ChatCompletionAccumulator.create()
    response.stream().forEach { accumulator.accumulate(it) }
    accumulator.chatCompletion().choices().first().message().content().get()
}

private fun anthropic(bytes: ByteArray) = AnthropicClientImpl(
    com.anthropic.core.ClientOptions.builder().httpClient(AnthropicMemory(bytes)).build(),
).messages().createStreaming(
    MessageCreateParams.builder().model("bench").maxTokens(1024).addUserMessage("Hi").build(),
)

fun anthropicDeltas(bytes: ByteArray): String = anthropic(bytes).use { response ->
    val text = StringBuilder()
    response.stream().forEach { event ->
        event.contentBlockDelta().ifPresent { delta -> delta.delta().text().ifPresent { text.append(it.text()) } }
    }
    text.toString()
}

fun anthropicAccumulated(bytes: ByteArray): String = anthropic(bytes).use { response ->
    val accumulator = MessageAccumulator.create()
    response.stream().forEach { accumulator.accumulate(it) }
    accumulator.message().content().first().asText().text()
}
