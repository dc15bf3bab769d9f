//! What comes back from the store is what the live run left: the messages, and so the provider's next request.

use crate::cases::cases;
use crate::plan::turns;
use crate::thread::Thread;
use crate::wire::Api;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_stored_thread_gives_the_request_that_the_live_one_does(api in 0..7usize, plans in turns(false)) {
        let mut thread = Thread::new(Api::ALL[api]);
        plans.iter().for_each(|plan| thread.run(plan));
    }

    #[test]
    fn an_agents_thread_too(plans in turns(true)) {
        let mut thread = Thread::new(Api::Agent);
        plans.iter().for_each(|plan| thread.run(plan));
    }
}
