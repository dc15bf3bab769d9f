use super::Step;
use crate::suites::threads;
use std::fs;

pub(super) const STEP: Step = Step {
    name: "threads",
    about: "the shared registry under every order of its threads' steps: all scripts of two by two calls, and random ones",
    run: |context, log, _| {
        let mut tests = threads::tests(context, log)?;
        log.run_unbounded(tests.args(["--include-ignored", "--nocapture"]))?;
        threads::faults_are_found(context, log)?;
        let text = fs::read_to_string(log.path())?;
        let tests = log.tests_passed()?;
        // With --nocapture the name of a test may stand in front of what it writes.
        let orders: u64 = text.lines().filter_map(orders).sum();
        Ok(format!(
            "{tests} tests passed, {orders} orders tried to the end"
        ))
    },
};

/// The number before `orders`.
fn orders(line: &str) -> Option<u64> {
    let words: Vec<_> = line.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "orders")?;
    words.get(place.checked_sub(1)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn reads_the_orders() {
        assert_eq!(orders("12 orders of 3 scripts"), Some(12));
        assert_eq!(orders("test a_b ... 1400 orders"), Some(1400));
        assert_eq!(orders("test every_order_of ... ok"), None);
    }
}
