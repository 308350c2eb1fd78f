"""The form in a notebook."""

from automodel_nb.widgets.form.view import LaunchForm, form

__all__ = ["LaunchForm", "form"]
