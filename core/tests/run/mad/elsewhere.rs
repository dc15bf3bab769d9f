//! The host goes, and another one takes over.

use super::Mad;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::run::{EffectId, Input, Misuse, RunMachine};

impl Mad {
    /// The host dies, and another one takes over what it stored last.
    pub fn crash(&mut self) {
        if let Some(journal) = &mut self.journal {
            let snapshot = journal.snapshot(&self.machine);
            let config = Arc::clone(&self.config);
            let revived = journal.revive(&snapshot, &config, Timestamp(self.now));
            self.came_back(revived.expect("readable"));
            self.hands.clear();
            self.take_outputs();
        }
    }

    /// Nothing is left in the old host's hands but a write, which it carries to its end; a new host goes on.
    pub(super) fn go_on_elsewhere(&mut self, before: &str) {
        let snapshot: serde_json::Value = serde_json::from_str(before).expect("JSON");
        let pending: Vec<(EffectId, serde_json::Value)> =
            serde_json::from_value(snapshot["run"]["core"]["effects"].clone()).expect("pairs");
        let is_deferred = |id: &EffectId| pending.contains(&(*id, "deferred".into()));
        for id in self.hands.keys() {
            assert!(
                matches!(
                    id,
                    EffectId::Persist { .. }
                        | EffectId::CreateRun { .. }
                        | EffectId::Trim { .. }
                        | EffectId::Output { .. }
                ) || is_deferred(id),
                "{id} was not stopped"
            );
        }
        assert_eq!(self.machine.poll_timeout(), None);
        if before.contains(r#""steering":[]"#) {
            assert_eq!(self.machine.snapshot(), before);
        }
        let now = Timestamp(self.now);
        let late = match &mut self.journal {
            Some(journal) => journal.handle(&mut self.machine, Input::Cancel, now),
            None => self.machine.handle(Input::Cancel, now),
        };
        assert_eq!(late, Err(Misuse::Disposed { input: "Cancel" }));
        self.disk.crash(true);
        // What was deferred comes to whoever has the run.
        self.hands.retain(|id, _| is_deferred(id));
        // An idempotent tool may run again elsewhere.
        let calls = self.machine.conversation().calls();
        let again: Vec<_> = calls.iter().filter(|call| call.name == "look").collect();
        self.tool_runs
            .retain(|run| again.iter().all(|call| call.key != *run));
        let now = Timestamp(self.now);
        self.take_outputs();
        let config = Arc::clone(&self.config);
        let revived = match &mut self.journal {
            Some(journal) => {
                let snapshot = journal.snapshot(&self.machine);
                journal.revive(&snapshot, &config, now)
            }
            None => RunMachine::revive(&self.machine.snapshot(), config, now),
        };
        self.came_back(revived.expect("readable"));
        self.take_outputs();
    }

    /// An answer that the death has cut is asked for anew in a hop of its own.
    fn came_back(&mut self, machine: RunMachine) {
        let begun = machine.hop() - self.machine.hop();
        assert!(begun <= 1, "I9: one death begins one hop");
        self.cuts += begun;
        self.machine = machine;
    }
}
