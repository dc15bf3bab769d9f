from pydantic import BaseModel
from stepwell import Agent


class Trip(BaseModel):
    city: str
    days: int


trip = Agent("openai:gpt-5-mini").run_sync("Where to?", output_type=Trip).output
print(f"{trip.days} days in {trip.city}")
