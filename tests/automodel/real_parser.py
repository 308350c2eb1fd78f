"""Run with AutoModel on PYTHONPATH: what its own command line and config loader make of values and arguments.

Reads pickled (path, value, argument) triples from standard input and answers each with pickled
(what the file gives, what the argument gives); an exception is its type's name. Not imported by the tests.
"""

import os
import pickle
import sys
import tempfile


def shown(value):
    """repr of plain values: exact about types, and what `reads_back` is compared with."""
    value = value.to_dict() if hasattr(value, "to_dict") else value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {shown(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return repr(value)


def outcome(make, path):
    try:
        value = make()
        for key in path.split("."):
            value = value.__dict__[key]
        return shown(value)
    except Exception as error:  # a missing $NAME, an import path that names nothing
        return type(error).__name__


def main():
    answers = os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr  # AutoModel prints the path of the recipe each time
    from nemo_automodel.components.config._arg_parser import parse_args_and_load_config
    from nemo_automodel.components.config.loader import ConfigNode

    try:
        from nemo_automodel.cli.app import build_parser

        before = []
    except ImportError:
        from nemo_automodel._cli.app import build_parser

        before = ["finetune", "llm", "-c"]
    from torch.distributed.run import get_args_parser

    torchrun = get_args_parser()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as recipe:
        recipe.write("recipe: R\nmodel: {a: 1}\n")
        recipe.flush()
        while True:
            try:
                path, value, argument = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            command = [*before, recipe.name, argument]
            passed = torchrun.parse_args(["-m", "nemo_automodel.cli.app", *command]).training_script_args
            assert passed == command, passed
            _, extra = build_parser().parse_known_args(command)
            assert extra == [argument], extra
            sys.argv = ["automodel", *command]

            tree = value
            for key in reversed(path.split(".")):
                tree = {key: tree}
            answer = (
                outcome(lambda tree=tree: ConfigNode(tree), path),
                outcome(lambda: parse_args_and_load_config(recipe.name), path),
            )
            pickle.dump(answer, answers)
            answers.flush()


if __name__ == "__main__":
    main()
