package dev.stepwell;

import java.time.Duration;
import java.util.List;

/** Java can make every setting. */
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
}
