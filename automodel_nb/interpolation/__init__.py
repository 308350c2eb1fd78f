"""``${VAR}`` and ``{{ name }}`` in launcher fields; what is secret stays a name. Nothing here evaluates anything."""

from automodel_nb.interpolation.environment import EnvTemplate, env_value, expand, literal_token, looks_secret
from automodel_nb.interpolation.masking import Masker
from automodel_nb.interpolation.names import fill_names

__all__ = ["EnvTemplate", "Masker", "env_value", "expand", "fill_names", "literal_token", "looks_secret"]
