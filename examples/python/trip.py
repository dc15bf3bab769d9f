import sys
from dataclasses import dataclass
from typing import Annotated

from stepwell import Agent, Model


@dataclass
class Trip:
    city: str
    days: Annotated[int, "At least one."]

    def __post_init__(self) -> None:
        if self.days < 1:
            raise ValueError(f"{self.days} days are no trip")


agent = Agent(Model.openai("gpt-4o-mini", base_url=next(iter(sys.argv[1:]), None)), output_type=Trip)
trip = agent.run_sync("Three days in Norway: where?").output
print(f"{trip.days} days in {trip.city}")
