"""Traces of events that hurt a contender more than another: searched, judged on fresh dice, and explained."""

from haltere.attack.arena import Rivals
from haltere.attack.attacking import Plan, attack
from haltere.attack.events import Base
from haltere.attack.results import Answer, Attack

__all__ = ["Answer", "Attack", "Base", "Plan", "Rivals", "attack"]
