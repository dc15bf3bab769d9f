package dev.stepwell;

import java.time.Duration;
import java.util.List;
import kotlin.Unit;

/** Java can make every setting, and call what takes a status or a wait. */
final class JavaSettings {
    private JavaSettings() {}

    static RunConfig config(String baseUrl) {
        return new RunConfigBuilder("openai-compatible")
            .model("mock")
            .baseUrl(baseUrl)
            .persistAttempts(3)
            .limits(new LimitsBuilder().maxToolRounds(5).build())
            .timeouts(new TimeoutsBuilder().silence(Duration.ofSeconds(30)).turn(Duration.ofMinutes(5)).build())
            .retry(new RetryPolicyBuilder().attempts(2).firstDelay(Duration.ofMillis(10)).build())
            .settings(new GenerationSettingsBuilder().maxOutputTokens(100).build())
            .build();
    }

    static RunMachine machine(String baseUrl) {
        return new RunMachine(config(baseUrl), "thread", null, null, false);
    }

    static TurnOptions options() {
        return new TurnOptionsBuilder().limits(new LimitsBuilder().maxToolRounds(0).build()).toolNames(List.of()).build();
    }

    static Outputs refused(RunMachine machine, String effect) {
        return Machines.refused(machine, effect, 401, new byte[0]);
    }

    static Outputs refused(RunMachine machine, String effect, Duration wait) {
        return Machines.refused(machine, effect, 429, new byte[0], wait);
    }

    static Outputs asks(RunMachine machine, String effect, Question question) {
        return Machines.toolAsks(machine, effect, 0, question);
    }

    static HttpTransport transport() {
        return (request, answer, done) -> {
            answer.opened(401, List.of(new HttpHeader("content-type", "text/plain")));
            return Unit.INSTANCE;
        };
    }
}
