"""What a linear CRF tells of its penalties: attributes, a plot, and the record in its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import CRFKitError
from crfkit.features.general_scales import GENERAL
from crfkit.features.penalty_groups import PenaltyScales
from crfkit.io.pictures import save_picture
from crfkit.models.linear.penalty_search import FoundPenalties
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.models.training_record import PenaltyRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PenaltyReport(SequenceLabeller[LinearTagger]):
    """A linear CRF whose L2 penalties may be found by training or belong to groups of features."""

    c1: float | str
    c2: float | str
    penalty_groups: Any
    c2_: float
    penalties_: Any
    penalty_history_: list[dict[str, Any]]

    def _keep_penalties(self, found: FoundPenalties | None) -> None:
        """Keep what training has found; None: it used the number c2."""
        if isinstance(getattr(self, "penalties_", None), dict):  # of an earlier fit
            del self.c2_, self.penalties_, self.penalty_history_
        if found is not None:
            self.c2_, self.penalties_, self.penalty_history_ = found.c2, found.by_name, found.history

    @property
    def penalty_scales_(self) -> PenaltyScales:
        """The penalties of groups over the common one, for ``penalty_groups=`` of another model."""
        if not isinstance(getattr(self, "penalties_", None), dict):
            raise AttributeError("the model has one penalty: fit it with c2='auto' and penalty_groups=…")
        given = PenaltyScales.of(self.penalty_groups)
        how = self.penalty_groups if given is None else given.groups
        how = "templates" if how == GENERAL else how
        return PenaltyScales({name: p / self.c2_ for name, p in self.penalties_.items()}, how)

    def plot_penalties(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the held-out loss and the penalties over the steps of the search; needs matplotlib.

        If ``path`` is given, the figure is also saved there.
        """
        from crfkit.models.linear.penalty_plot import draw_penalties

        history = getattr(self, "penalty_history_", None)
        if not history:
            raise CRFKitError("there is no search to draw: fit the model with c2='auto'")
        figure = draw_penalties(history, list(self.penalties_))
        if path is not None:
            save_picture(figure, path)
        return figure

    def _training_record(self) -> dict[str, Any]:
        record = super()._training_record()
        if not isinstance(getattr(self, "penalties_", None), dict):
            return record
        record |= PenaltyRecord(self.c2_, self.penalties_, self.penalty_history_).to_header()
        if self.c1 == "auto":
            record["chosen"]["c1"] = self.c2_
        return record

    def _restore(self, header: Mapping[str, Any]) -> None:
        super()._restore(header)
        own = PenaltyRecord.from_header(header)
        if own is not None:
            self.c2_, self.penalties_, self.penalty_history_ = own
