import os
import sys
from dataclasses import dataclass
from typing import Annotated

from stepwell import Agent


@dataclass
class Trip:
    city: str
    days: Annotated[int, "At least one."]

    def __post_init__(self) -> None:
        if self.days < 1:
            raise ValueError(f"{self.days} days are no trip")


base_url, key = next(iter(sys.argv[1:]), None), os.environ.get("OPENAI_API_KEY")
agent = Agent(provider="openai", model="gpt-4o-mini", base_url=base_url, key=key)
trip = agent.run_sync("Three days in Norway: where?", output_type=Trip).output
print(f"{trip.days} days in {trip.city}")
