"""Laws by look-up, linear algebra and structure detection: what is cheap to find is found before the search begins."""

from evolve.seeding.judge import Proposal
from evolve.seeding.propose import Seeder, propose

__all__ = ["Proposal", "Seeder", "propose"]
