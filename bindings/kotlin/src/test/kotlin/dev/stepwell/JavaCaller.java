package dev.stepwell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A program in Java: an agent with a tool, a run, a conversation, and what goes wrong. */
final class JavaCaller {
    private JavaCaller() {}

    static Agent agent(String baseUrl) {
        return Agent.builder(Model.openaiCompatible("mock", baseUrl))
            .tool("get_secret_number", "The secret number of a person.", tool -> {
                tool.string("name", "The user's name.", false);
                tool.runBlocking(call -> call.getName().equals("get_secret_number") ? 42 : 7);
            })
            .limits(new LimitsBuilder().maxToolRounds(5).build())
            .timeouts(new TimeoutsBuilder().silence(Duration.ofSeconds(30)).build())
            .build();
    }

    static Agent withFallback(Model first, Model second) {
        return Agent.builder(first)
            .fallback(second)
            .fallbackAfter(ErrorKind.OVERLOADED, ErrorKind.TIMEOUT)
            .fallbackAfterText(true)
            .modelRest(Duration.ofSeconds(30))
            .retry(new RetryPolicyBuilder().attempts(1).build())
            .build();
    }

    static Agent compacting(Model model) {
        List<CompactionWay> ways = List.of(new CompactionWay.DropResults(5), new CompactionWay.Summary(null, null, 0.2));
        return Agent.builder(model)
            .contextGuard(new ContextGuardBuilder().window(1_600L).build())
            .compaction(new CompactionPolicyBuilder().ways(ways).build())
            .summaryModel(model)
            .build();
    }

    static TurnResult<String> run(Agent agent) {
        return agent.blocking().run("Hi", options -> options.setUser("user-7"));
    }

    static CompletableFuture<TurnResult<String>> runAsync(Agent agent) {
        return agent.blocking().runAsync("Hi");
    }

    static List<Update> stream(Agent agent) {
        var updates = new ArrayList<Update>();
        agent.blocking().stream("Hi", updates::add);
        return updates;
    }

    static int messages(Agent agent) {
        try (BlockingConversation conversation = agent.blocking().conversation("java")) {
            conversation.send("Hi");
            return conversation.send("And?").getMessages().size();
        }
    }

    static String wrong(Agent agent) {
        try {
            return run(agent).getText();
        } catch (StepwellException.Authentication failed) {
            return failed.getMessage() + " " + failed.getStatus();
        }
    }
}
