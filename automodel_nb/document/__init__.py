"""YAML text with positions: strict reading, the recipe without the launcher section, edits that change one value."""

from automodel_nb.document.model import Document, Path, Section
from automodel_nb.document.nodes import SECTIONS, RawValue, Scalar, plain

__all__ = ["SECTIONS", "Document", "Path", "RawValue", "Scalar", "Section", "plain"]
