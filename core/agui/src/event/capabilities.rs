use super::field::Metadata;
use super::run_input::ToolDefinition;
use serde::{Deserialize, Serialize};

// One line a field: its name, its type.
macro_rules! capabilities {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$field_doc:meta])* $field:ident: $type:ty, )* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
            /// Fields that this version does not know.
            #[serde(flatten)]
            pub extra: Metadata,
        }
    )*};
}

capabilities! {
    /// What an agent says that it can do. What it leaves out is undeclared, not unsupported; what it sends in a run
    /// counts in any case.
    ///
    /// AG-UI has no standard way to ask for it: the host gets the JSON from where the agent has it.
    AgentCapabilities {
        /// Who it is.
        identity: IdentityCapabilities,
        /// How it is reached.
        transport: TransportCapabilities,
        /// Its tools, and the client's.
        tools: ToolsCapabilities,
        /// What it gives.
        output: OutputCapabilities,
        /// The shared state.
        state: StateCapabilities,
        /// Its subagents.
        multi_agent: MultiAgentCapabilities,
        /// Its reasoning.
        reasoning: ReasoningCapabilities,
        /// Media.
        multimodal: MultimodalCapabilities,
        /// Running code.
        execution: ExecutionCapabilities,
        /// What it asks the user.
        human_in_the_loop: HumanInTheLoopCapabilities,
        /// Whatever else it wants to say.
        custom: Metadata,
    }
    /// Who an agent is.
    IdentityCapabilities {
        /// Its name, for people.
        name: String,
        /// What it is built with.
        r#type: String,
        /// What it does.
        description: String,
        /// Its version.
        version: String,
        /// Who runs it.
        provider: String,
        /// Where it is described.
        documentation_url: String,
        /// What the sender attached.
        metadata: Metadata,
    }
    /// How an agent is reached.
    TransportCapabilities {
        /// It streams its events.
        streaming: bool,
        /// It speaks WebSocket.
        websocket: bool,
        /// It can send protobuf instead of JSON.
        http_binary: bool,
        /// It notifies apps that are not running.
        push_notifications: bool,
        /// A stream that broke off can be gone on with.
        resumable: bool,
    }
    /// An agent's tools.
    ToolsCapabilities {
        /// It calls tools.
        supported: bool,
        /// The tools that it has itself.
        items: Vec<ToolDefinition>,
        /// It asks for several calls at once.
        parallel_calls: bool,
        /// It takes the client's tools.
        client_provided: bool,
    }
    /// What an agent gives.
    OutputCapabilities {
        /// Answers in the form of a schema.
        structured_output: bool,
        /// The media types of what it gives.
        supported_mime_types: Vec<String>,
    }
    /// The state that an agent shares.
    StateCapabilities {
        /// It sends `STATE_SNAPSHOT`.
        snapshots: bool,
        /// It sends `STATE_DELTA`.
        deltas: bool,
        /// It remembers from thread to thread.
        memory: bool,
        /// The state outlives the run.
        persistent_state: bool,
    }
    /// An agent's subagents.
    MultiAgentCapabilities {
        /// It has some.
        supported: bool,
        /// It gives them work and goes on itself.
        delegation: bool,
        /// It hands the conversation over to them.
        handoffs: bool,
        /// Who they are.
        subagents: Vec<SubagentInfo>,
    }
    /// One subagent.
    SubagentInfo {
        /// Its name.
        name: String,
        /// What it does.
        description: String,
    }
    /// An agent's reasoning.
    ReasoningCapabilities {
        /// It reasons.
        supported: bool,
        /// It streams what it thinks.
        streaming: bool,
        /// It sends values to be given back unread.
        encrypted: bool,
    }
    /// The media that an agent takes and gives.
    MultimodalCapabilities {
        /// Takes.
        input: MultimodalInputCapabilities,
        /// Gives.
        output: MultimodalOutputCapabilities,
    }
    /// The media that an agent takes.
    MultimodalInputCapabilities {
        /// Pictures.
        image: bool,
        /// Sound.
        audio: bool,
        /// Films.
        video: bool,
        /// PDF documents.
        pdf: bool,
        /// Files of any kind.
        file: bool,
    }
    /// The media that an agent gives.
    MultimodalOutputCapabilities {
        /// Pictures.
        image: bool,
        /// Sound.
        audio: bool,
    }
    /// How an agent runs code.
    ExecutionCapabilities {
        /// It does.
        code_execution: bool,
        /// In a sandbox.
        sandboxed: bool,
        /// The most rounds of a run.
        max_iterations: u64,
        /// The longest that a run takes, in milliseconds.
        max_execution_time: u64,
    }
    /// What an agent asks the user.
    HumanInTheLoopCapabilities {
        /// It asks.
        supported: bool,
        /// Whether it may do something.
        approvals: bool,
        /// The user may step in.
        interventions: bool,
        /// What the user thinks of its work.
        feedback: bool,
        /// By interrupts, answered with the next run.
        interrupts: bool,
        /// The user may change what is approved.
        approve_with_edits: bool,
    }
}

impl AgentCapabilities {
    /// Reads what an agent says of itself. Unknown fields are kept, and `null` is read as absent.
    ///
    /// # Errors
    /// It is not a JSON object, or a known field has a value of the wrong kind. That is no reason to fail a run.
    pub fn from_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_agent_declares_is_read_and_written_back() {
        let said = json!({
            "identity": {"name": "Ada", "type": "langgraph", "documentationUrl": "https://a.example"},
            "transport": {"streaming": true, "httpBinary": false, "carrierPigeon": true},
            "tools": {"supported": true, "items": [{"name": "n", "description": "d"}], "clientProvided": true},
            "multiAgent": {"subagents": [{"name": "s"}]},
            "multimodal": {"input": {"pdf": true}, "output": {}},
            "execution": {"maxIterations": 7},
            "humanInTheLoop": {"approveWithEdits": true},
            "custom": {"mood": "good"},
        });
        let read = AgentCapabilities::from_json(said.to_string().as_bytes()).unwrap();
        let transport = read.transport.as_ref().unwrap();
        assert_eq!(
            (transport.http_binary, transport.resumable),
            (Some(false), None)
        );
        let human = read.human_in_the_loop.as_ref().unwrap();
        assert_eq!(human.approve_with_edits, Some(true));
        let identity = read.identity.as_ref().unwrap();
        assert_eq!(identity.r#type.as_deref(), Some("langgraph"));
        assert_eq!(serde_json::to_value(&read).unwrap(), said);
    }

    #[test]
    fn null_is_absent_and_the_wrong_kind_is_refused() {
        let read = AgentCapabilities::from_json(br#"{"tools":null,"subAgents":[]}"#).unwrap();
        assert_eq!(read.tools, None);
        assert_eq!(read.multi_agent, None, "only `multiAgent.subagents` counts");
        for wrong in [
            r#"{"tools":{"supported":"yes"}}"#,
            "[]",
            "",
            r#"{"execution":{"maxIterations":-1}}"#,
        ] {
            assert!(
                AgentCapabilities::from_json(wrong.as_bytes()).is_err(),
                "{wrong}"
            );
        }
    }
}
