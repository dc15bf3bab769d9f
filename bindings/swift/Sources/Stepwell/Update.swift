import StepwellBindings

/// An update of a `Turn`, as an app shows it. The end of the turn is no update: it is the turn's `result`, or the error of
/// the sequence.
///
/// Later versions may have more cases: a `switch` over those that an app shows has a `default`.
public enum Update: Sendable, Hashable {
    /// The turn begins.
    case started(Event.Started)
    /// The turn continues with another request. It is for logs, and nothing to show.
    case hopStarted(Event.HopStarted)
    /// A delta of the answer's text.
    case text(Event.TextMessageContent)
    /// A delta of the model's reasoning.
    case reasoning(Event.ReasoningMessageContent)
    /// The status of a tool call has changed.
    case toolCall(Event.ToolCallUpdate)
    /// The parsed changes of a tool call's arguments, for a `PartialValue`; only with `partialArguments`.
    case toolArguments(Event.PartialArguments)
    /// A running tool reports its progress.
    case toolProgress(Event.ToolProgress)
    /// A running tool shows its result so far.
    case toolPartialResult(Event.ToolPartialResult)
    /// The parsed changes of the typed answer while it streams; `Turn.partials` has its properties.
    case output(Event.PartialOutput)
    /// The typed answer does not fit its type: the model gets the reason, and is asked again.
    case outputRefused(Event.OutputRefused)
    /// What the turn waits for has changed: all that waits now. `Turn.approve`, `deny`, `answer` and `resolveCall` take the
    /// replies.
    case pending([Pending])
    /// An AG-UI agent asks the user; the turn waits for `Turn.resume`.
    case interrupted([Interrupt])
    /// A request failed, and is sent again.
    case retrying(Event.Retrying)
    /// Another model is asked from here on: after a failure of the `previous` one, or because the app chose it, or the
    /// previous one rests; then `after` and `reason` are nil.
    case modelChanged(Event.ModelChanged)
    /// There is no network: the next request waits for it.
    case waitingForNetwork(Event.WaitingForNetwork)
    /// A stream that broke off is open again, and continues where it stopped.
    case streamResumed(Event.StreamResumed)
    /// A message that the user sent during the turn is in the conversation now, and this hop answers it.
    case steeringTaken(Event.SteeringTaken)
    /// A message that the user sent during the turn was not taken, and is returned, for the input field for example.
    case steeringRefused(Event.SteeringRefused)
    /// The conversation nearly fills the model's context window.
    case contextNearlyFull(Event.ContextNearlyFull)
    /// The turn continues without some messages, which did not fit the model's context window.
    case contextTrimmed(Event.ContextTrimmed)
    /// A hook has refused, or failed.
    case hookRefused(Event.HookRefused)
    /// Something odd that did not stop the turn.
    case warning(String)
    /// Any other AG-UI event: where a message begins and ends, a shared state, an activity, what an agent sends of its own.
    case agUi(Event)

    /// The update of an event; nil for the end of the turn, which is its result.
    init?(_ event: Event) {
        switch event {
        case .started(let it): self = .started(it)
        case .hopStarted(let it): self = .hopStarted(it)
        case .textMessageContent(let it): self = .text(it)
        case .reasoningMessageContent(let it): self = .reasoning(it)
        case .toolCallUpdate(let it): self = .toolCall(it)
        case .partialArguments(let it): self = .toolArguments(it)
        case .toolProgress(let it): self = .toolProgress(it)
        case .toolPartialResult(let it): self = .toolPartialResult(it)
        case .partialOutput(let it): self = .output(it)
        case .outputRefused(let it): self = .outputRefused(it)
        case .pending(let it): self = .pending(it.pending)
        case .interrupted(let it): self = .interrupted(it.interrupts)
        case .retrying(let it): self = .retrying(it)
        case .modelChanged(let it): self = .modelChanged(it)
        case .waitingForNetwork(let it): self = .waitingForNetwork(it)
        case .streamResumed(let it): self = .streamResumed(it)
        case .steeringTaken(let it): self = .steeringTaken(it)
        case .steeringRefused(let it): self = .steeringRefused(it)
        case .contextNearlyFull(let it): self = .contextNearlyFull(it)
        case .contextTrimmed(let it): self = .contextTrimmed(it)
        case .hookRefused(let it): self = .hookRefused(it)
        case .warning(let it): self = .warning(it.message)
        case .answerDropped(let it):
            self = .warning("an answer for `\(it.effect)` came when none was awaited")
        case .unknownToolCall(let it):
            self = .warning("the stream had an event for the tool call `\(it.toolCallId)`, which is not open")
        case .completed: return nil
        default: self = .agUi(event)
        }
    }
}
