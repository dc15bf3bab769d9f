from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter

agent = Agent("openai-chat:gpt-5-mini", output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def pay(euros: int) -> str:
    """Pays a bill."""
    return f"paid {euros} euros"


file = Path("bill.json")
if not file.exists():
    file.write_bytes(agent.run_sync("Pay my bill.").all_messages_json())
history = ModelMessagesTypeAdapter.validate_json(file.read_bytes())
asked = {call.tool_call_id: input(f"Pay {call.args_as_dict()['euros']} euros? ") for call in history[-1].tool_calls}
results = DeferredToolResults(approvals={call: answer == "yes" for call, answer in asked.items()})
print(agent.run_sync(message_history=history, deferred_tool_results=results).output)
file.unlink()
