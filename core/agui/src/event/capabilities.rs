use super::field::Metadata;
use super::run_input::ToolDefinition;
use serde::{Deserialize, Serialize};

// One line per field: its name, its type.
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
    /// The capabilities that an agent declares. A missing field means undeclared, not unsupported; the events of a run
    /// count in any case.
    ///
    /// AG-UI has no standard way to request them: the host gets the JSON from wherever the agent publishes it.
    AgentCapabilities {
        /// The agent's identity.
        identity: IdentityCapabilities,
        /// The agent's transports.
        transport: TransportCapabilities,
        /// The agent's own tools, and the client's.
        tools: ToolsCapabilities,
        /// The agent's output.
        output: OutputCapabilities,
        /// The shared state.
        state: StateCapabilities,
        /// The agent's subagents.
        multi_agent: MultiAgentCapabilities,
        /// The agent's reasoning.
        reasoning: ReasoningCapabilities,
        /// The media that the agent takes and returns.
        multimodal: MultimodalCapabilities,
        /// The execution of code.
        execution: ExecutionCapabilities,
        /// The questions that the agent asks the user.
        human_in_the_loop: HumanInTheLoopCapabilities,
        /// Custom capabilities.
        custom: Metadata,
    }
    /// The identity of an agent.
    IdentityCapabilities {
        /// The agent's display name.
        name: String,
        /// The framework that the agent is built with.
        r#type: String,
        /// The description of the agent.
        description: String,
        /// The agent's version.
        version: String,
        /// The provider that runs the agent.
        provider: String,
        /// The address of the agent's documentation.
        documentation_url: String,
        /// Metadata from the sender.
        metadata: Metadata,
    }
    /// The transports of an agent.
    TransportCapabilities {
        /// The agent streams its events.
        streaming: bool,
        /// The agent supports WebSocket.
        websocket: bool,
        /// The agent can send protobuf instead of JSON.
        http_binary: bool,
        /// The agent sends push notifications.
        push_notifications: bool,
        /// A stream that broke off can be resumed.
        resumable: bool,
    }
    /// An agent's tools.
    ToolsCapabilities {
        /// The agent calls tools.
        supported: bool,
        /// The agent's own tools.
        items: Vec<ToolDefinition>,
        /// The agent may make several calls at once.
        parallel_calls: bool,
        /// The agent takes the client's tools.
        client_provided: bool,
    }
    /// The output of an agent.
    OutputCapabilities {
        /// The agent's answers can conform to a schema.
        structured_output: bool,
        /// The media types of the output.
        supported_mime_types: Vec<String>,
    }
    /// The state that an agent shares.
    StateCapabilities {
        /// The agent sends `STATE_SNAPSHOT`.
        snapshots: bool,
        /// The agent sends `STATE_DELTA`.
        deltas: bool,
        /// The agent has a memory across threads.
        memory: bool,
        /// The state outlives the run.
        persistent_state: bool,
    }
    /// An agent's subagents.
    MultiAgentCapabilities {
        /// The agent has subagents.
        supported: bool,
        /// The agent delegates work to subagents and continues itself.
        delegation: bool,
        /// The agent hands the conversation over to subagents.
        handoffs: bool,
        /// The subagents.
        subagents: Vec<SubagentInfo>,
    }
    /// A subagent.
    SubagentInfo {
        /// The subagent's name.
        name: String,
        /// The description of the agent.
        description: String,
    }
    /// An agent's reasoning.
    ReasoningCapabilities {
        /// The agent reasons.
        supported: bool,
        /// The agent streams its reasoning.
        streaming: bool,
        /// The agent sends encrypted values that the client sends back unread.
        encrypted: bool,
    }
    /// The media that an agent takes and returns.
    MultimodalCapabilities {
        /// The media that the agent takes.
        input: MultimodalInputCapabilities,
        /// The media that the agent returns.
        output: MultimodalOutputCapabilities,
    }
    /// The media that an agent takes.
    MultimodalInputCapabilities {
        /// Images.
        image: bool,
        /// Audio.
        audio: bool,
        /// Video.
        video: bool,
        /// PDF documents.
        pdf: bool,
        /// Files of any kind.
        file: bool,
    }
    /// The media that an agent returns.
    MultimodalOutputCapabilities {
        /// Images.
        image: bool,
        /// Audio.
        audio: bool,
    }
    /// The execution of code by an agent.
    ExecutionCapabilities {
        /// The agent runs code.
        code_execution: bool,
        /// The code runs in a sandbox.
        sandboxed: bool,
        /// The maximum number of rounds in a run.
        max_iterations: u64,
        /// The maximum duration of a run, in milliseconds.
        max_execution_time: u64,
    }
    /// The questions that an agent asks the user.
    HumanInTheLoopCapabilities {
        /// The agent asks the user.
        supported: bool,
        /// The agent asks for approvals.
        approvals: bool,
        /// The user may intervene.
        interventions: bool,
        /// The agent asks for feedback.
        feedback: bool,
        /// The agent asks by interrupts, which the next run answers.
        interrupts: bool,
        /// The user may edit what they approve.
        approve_with_edits: bool,
    }
}

impl AgentCapabilities {
    /// Reads an agent's capabilities. Unknown fields are kept, and `null` is read as absent.
    ///
    /// # Errors
    /// The text is not a JSON object, or a known field has a value of the wrong kind. This is no reason to fail a run.
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
