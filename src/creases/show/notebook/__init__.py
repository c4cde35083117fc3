"""Results in notebooks: cards with a picture, and reports in a frame.

Every result is shown as a card when it is the last expression of a notebook's cell.
``report`` shows the whole report of a result in the notebook.
"""

from creases.show.notebook._report import report

__all__ = ["report"]
