"""The form's model: a document edited field by field or as text, two ways, without a screen."""

from automodel_nb.editing.form import Form

__all__ = ["Form"]
