"""What people look at: one self-contained HTML page per run."""

from deepbass.report.figures import write_figures
from deepbass.report.page import write_report

__all__ = ["write_figures", "write_report"]
