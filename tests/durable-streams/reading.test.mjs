// The cases of the protocol's own tests that read a stream. What writes is the test program's, which serves at URL.
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

runConformanceTests({ baseUrl: process.env.URL });
