-- Whose logs may be dropped.
CREATE INDEX ended_turns ON turn_states (updated_at) WHERE status <> 'streaming';
