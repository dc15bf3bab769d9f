//! An agent is set up with many tools: twice as many are twice the work, counted in what is allocated.

use allocation_counter::measure;
use std::convert::Infallible;
use stepwell_io::tool::Tool;
use stepwell_io::{Agent, provider};

#[test]
fn twice_as_many_tools_are_twice_the_work() {
    let endpoint = provider::find("openai-compatible")
        .expect("a provider")
        .endpoint(None, "m", Some("http://localhost/v1"), None)
        .expect("an endpoint");
    let cost = |count| {
        measure(|| {
            let tools = (0..count).map(|index| Tool::new(format!("tool_{index}"), "A tool."));
            let agent = tools.fold(Agent::<()>::builder(endpoint.clone()), |agent, tool| {
                agent.tool(tool, |_| async { Ok::<_, Infallible>("done") })
            });
            drop(agent);
        })
        .bytes_total
    };
    let (some, twice) = (cost(500), cost(1_000));
    assert!(twice < some * 5 / 2, "{some} bytes, then {twice}");
}
