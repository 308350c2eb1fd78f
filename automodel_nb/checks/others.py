"""The findings that come from elsewhere than a rule: from reading the text, from planning, from a scheduler's answer."""

from __future__ import annotations

#: Findings of the text itself: to lift them would launch something other than what was typed.
NOT_TO_IGNORE = frozenset({"unknown-key", "bad-value", "unset-variable", "literal-secret", "secret-shown", "cannot-travel"})

#: Code: severity, and what it says.
OTHERS: dict[str, tuple[str, str]] = {
    # the text
    "alias-bomb": ("error", "Aliases would expand to more than can be read."),
    "anchor-in-section": ("error", "The recipe uses an anchor of the launcher section, which AutoModel does not get."),
    "bad-key": ("error", "A list or a mapping is used as a key."),
    "bad-merge": ("error", "`<<` merges what is no mapping."),
    "bad-value": ("error", "A launcher field has a value that it does not take; the forms that it takes are named."),
    "control-character": ("error", "A character that no launcher field (or no YAML) can hold."),
    "cell": ("error", "The text of the cell is no launch that a form can hold."),
    "duplicate-anchor": ("error", "An anchor is defined twice."),
    "duplicate-key": ("error", "A key is written twice."),
    "edit": ("error", "A value cannot be changed in place."),
    "empty": ("error", "The cell is empty."),
    "empty-document": ("error", "The text holds no document."),
    "encoding": ("error", "The file is not UTF-8."),
    "file": ("error", "The file cannot be read."),
    "from": ("error", "A job that was launched from a file and a cell cannot be the base of another cell."),
    "moved-anchor": ("hint", "The value of an anchor of the launcher section is written into the recipe, which uses it."),
    "names": ("error", "`{{ name }}` names nothing in the notebook, or a value that YAML cannot hold."),
    "not-a-mapping": ("error", "A section (or the document) holds no fields."),
    "recursive-alias": ("error", "An anchor holds itself."),
    "several-documents": ("error", "The text holds several documents."),
    "tag": ("error", "A YAML tag that means nothing here."),
    "too-deep": ("error", "The text is nested too deeply."),
    "too-large": ("error", "The text is too large."),
    "unknown-anchor": ("error", "An alias without its anchor."),
    "unknown-key": ("error", "A launcher section has no such field; the nearest one is named."),
    "yaml-syntax": ("error", "The text is not YAML."),
    # the method and the profile
    "method": ("error", "Argument and document do not agree on one launch method."),
    "profile": ("error", "A profile's file cannot be read."),
    "unknown-method": ("error", "There is no launch method of that name."),
    "unknown-profile": ("error", "There is no profile of that name."),
    # variables and secrets
    "env-syntax": ("warning", "`$VAR`, `${VAR:-x}`, `${oc.env:VAR}` or a bare name in a launcher field is taken literally."),
    "literal-secret": ("error", "A token is written into the launcher section itself."),
    "secret-in-text": ("warning", "A value that is a secret by its name stands in the text."),
    "secret-shown": ("error", "A secret is referred to in a field that would show its value."),
    "unset-variable": ("error", "`${VAR}` in a launcher field is not set in the notebook's environment."),
    # the recipe
    "bad-override": ("error", "A `--set` value cannot travel as AutoModel's own argument."),
    "cannot-travel": ("error", "What the cell adds to a file's recipe cannot travel as AutoModel's own argument."),
    "no-recipe": ("error", "The recipe does not say which one it is, which current AutoModel needs."),
    "published-key": (
        "warning",
        "A published resume key that current AutoModel does not read is replaced (an error where it cannot be).",
    ),
    # how it will run
    "chain": ("hint", "How many jobs a chain submits, and how they follow each other."),
    "container-runtime": ("error", "The container runtime is not one that can run the image."),
    "mount-path": ("error", "A path that is mounted has a comma or colon, which Pyxis cannot express."),
    "no-gpu": ("warning", "This node has no GPU: it trains on the CPU."),
    "inherit-elsewhere": ("error", "`inherit_env` would carry this machine's environment to another."),
    "no-shared-connection": ("hint", "ssh shares no connection to the login node (ControlMaster); it works all the same."),
    "remote-paths": ("hint", "What `~`, relative paths and variables mean on the login node."),
    "unreachable": ("error", "The login node cannot be reached, or wants a login; what to type."),
    "port-not-used": ("warning", "`master_port` has no effect on this node, where torchrun takes a free port."),
    # what the scheduler says
    "controller": ("hint", "A managed job needs a controller, which costs money too."),
    "no-skypilot": ("error", "SkyPilot is not installed."),
    "price": ("hint", "What the nodes cost, by SkyPilot's catalog."),
    "cluster-check": (
        "hint",
        "What `sbatch --test-only` says to a launch, with its start estimate: `--dry-run --check-cluster`. "
        "(A warning where there is no answer.)",
    ),
    "sbatch-refused": ("error", "sbatch refused the job; its words, and the field that they are about."),
    "skypilot-refuses": ("error", "SkyPilot refuses the task; its words, and the field that they are about."),
    # the checks themselves
    "launch": ("error", "A launch failed for a reason without a code of its own."),
    "not-ignored": ("hint", "A finding of the text itself is not passed over by `--ignore`."),
    "unknown-code": ("warning", "`--ignore` or a profile's `[checks]` names no check."),
}
