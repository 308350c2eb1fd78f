"""Signs of the training: model, data, recipe, Python; and of ranks that lost one another."""

from __future__ import annotations

from automodel_nb.watching.diagnosis.signs import named, raised, sign

_TOKEN = "pass the token by name, `HF_TOKEN: ${{HF_TOKEN}}` in env_vars."
_PATHS = "Correct the path; relative ones are taken from the working directory (`chdir`)."

SIGNS = (
    sign(
        "gated",
        ["gated repo", "GatedRepo", "not in the authorized list"],
        [
            named("GatedRepoError"),
            raised("You are trying to access a gated repo", "OSError"),
            ".*is restricted and you are not in the authorized list",
        ],
        cause="The model or data set is gated, and this token may not read it.",
        fix=f"Ask for access on its page on the hub, and {_TOKEN}",
    ),
    sign(
        "unauthorized",
        ["401 Client Error", "Client error '401", "Invalid user token"],
        raised(".*(?:401 Client Error|Client error '401|Invalid user token)"),
        cause="The hub does not accept the token, or got none.",
        fix=f"Make a valid one, and {_TOKEN}",
    ),
    sign(
        "model-path",
        ["Repo id must"],
        raised(r"Repo id must .*?: '(?P<what>[^']+)'", "HFValidationError"),
        cause="There is no model {what}: what is no path that exists is taken for a name on the hub.",
        fix=_PATHS,
    ),
    sign(
        "not-on-hub",
        ["RepositoryNotFoundError", "is not a valid model identifier", "DatasetNotFoundError", "doesn't exist on the Hub"],
        [
            named("RepositoryNotFoundError"),
            raised(r"(?P<what>\S+) is not a local folder and is not a valid model identifier", "OSError"),
            raised(r"Dataset '[^']+' doesn't exist on the Hub", "DatasetNotFoundError"),
        ],
        cause="There is no such model or data set on the hub, or this token may not see it.",
        fix=f"Correct the name, or {_TOKEN}",
    ),
    sign(
        "hub-unreachable",
        ["OfflineModeIsEnabled", "LocalEntryNotFoundError", "Couldn't reach", "Max retries exceeded", "couldn't connect to"],
        [
            raised(r"Couldn't reach '(?P<what>[^']+)' on the Hub", "ConnectionError"),
            named("OfflineModeIsEnabled", "LocalEntryNotFoundError"),
            raised(".*Max retries exceeded", "ConnectionError", "ConnectTimeout", "ProxyError"),
            raised("We couldn't connect to", "OSError"),
        ],
        cause="A model or data set is neither on disk nor in Hugging Face's cache, and the hub cannot be reached: {what}",
        fix="Correct the name or path, or download it into the same HF_HOME on a machine with internet.",
    ),
    sign(
        "restore-missing",
        ["Checkpoint directory does not exist"],
        [".*Checkpoint directory does not exist"],
        cause="The checkpoint that checkpoint.restore_from names does not exist.",
        fix="Correct the path, or write LATEST for the newest of the checkpoint directory.",
    ),
    sign(
        "file-missing",
        ["No such file or directory", "Unable to find"],
        [
            raised(r"\[Errno 2\] No such file or directory: '(?P<what>[^']+)'", "FileNotFoundError"),
            raised(r"Unable to find '?(?P<path>[^']+)'?", "FileNotFoundError"),
        ],
        cause="A file is missing: {what}",
        fix=_PATHS,
    ),
    sign(
        "data-column",
        ["Expected at least two columns"],
        raised("Expected at least two columns", "AssertionError"),
        cause="The data set has not the columns that column_mapping names.",
        fix="Correct the names in the dataset section; they are those of the data's own fields.",
    ),
    sign(
        "no-recipe",
        ["must specify a recipe"],
        "YAML config must specify a recipe",
        cause="The recipe does not say which one it is.",
        fix="Add `recipe: TrainFinetuneRecipeForNextTokenPrediction`.",
    ),
    sign(
        "unknown-recipe",
        ["Unknown recipe class"],
        "Unknown recipe class '(?P<what>[^']+)'",
        cause="AutoModel has no recipe {what}.",
        fix="The log lists the names that there are, below that line.",
    ),
    sign(
        "unknown-key",
        ["got an unexpected keyword argument"],
        raised(r"(?P<of>[\w.]+)\(\) got an unexpected keyword argument '(?P<what>[^']+)'", "TypeError"),
        cause="{of} takes no `{what}`.",
        fix="Correct the key in the recipe.",
    ),
    sign(
        "unknown-key",
        ["config field", "Unknown options for strategy"],
        [
            raised(r".*[Uu]nexpected \w+ config field\(s\):? (?P<what>.+)", "TypeError"),
            raised(r"Unknown options for strategy '\w+': \[(?P<keys>.+)\]", "ValueError"),
        ],
        cause="The recipe has a key that AutoModel does not know: {what}",
        fix="Correct the key in the recipe.",
    ),
    sign(
        "restore-format",
        ["must be str, bytes or os.PathLike", "not ConfigNode", "ConfigNode"],
        raised(".*ConfigNode", "TypeError", "AttributeError"),
        cause="A value is a mapping where AutoModel wants text.",
        fix="`checkpoint.restore_from` is the path itself: `restore_from: PATH`.",
    ),
    sign(
        "unset-variable",
        ["is not set (required by"],
        raised(r"[\"']Environment variable '(?P<what>[^']+)' is not set", "KeyError"),
        cause="The recipe needs the environment variable {what}, which the job does not have.",
        fix="Add it to env_vars: `{what}: ${{{what}}}`.",
    ),
    sign(
        "batch-size",
        ["must be divisible by local_batch_size"],
        raised(
            r"global_batch_size \((?P<whole>\d+)\) must be divisible by local_batch_size \* dp_size "
            r"\((?P<local>\d+) \* (?P<workers>\d+)\)"
        ),
        cause="global_batch_size {whole} is no multiple of local_batch_size {local} x {workers} workers.",
        fix="Write a multiple of it.",
    ),
    sign(
        "missing-module",
        ["No module named"],
        [
            raised("No module named '(?P<what>[^']+)'", "ModuleNotFoundError"),
            r"\S*python[\d.]*: No module named (?P<name>[\w.]+)",
            r"\S*python[\d.]*: Error while finding module .*No module named '(?P<path>[^']+)'",
        ],
        cause="A Python module is not installed where the job runs: {what}",
        fix="Install it there, or correct the name.",
    ),
    sign(
        "missing-name",
        ["ImportError", "annot resolve"],
        raised("(?P<what>.+)", "ImportError"),
        cause="Something that is named cannot be imported: {what}",
        fix="Correct the name (`_target_`), or install the release that has it.",
    ),
    # who fails when others do, the most telling first
    sign(
        "port-in-use",
        ["EADDRINUSE"],
        raised(r".*port: (?P<what>\d+).*EADDRINUSE", r"Dist\w*Error", "RuntimeError"),
        cause="The rendezvous port {what} is in use.",
        fix="Leave `master_port` out for a free one, or give another.",
    ),
    sign(
        "rendezvous",
        ["RendezvousTimeoutError", "RendezvousConnectionError"],
        named("RendezvousTimeoutError", "RendezvousConnectionError"),
        cause="The nodes did not find each other: the rendezvous was never formed.",
        fix="Look for a node that ended earlier, for a firewall between the nodes, and at MASTER_ADDR.",
    ),
    sign(
        "collective-timeout",
        ["Watchdog caught collective operation timeout", "Timed out waiting"],
        [
            r"\[.*Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d+), OpType=(?P<what>\w+)",
            raised(r".*Timed out waiting \d+ms for \w+ operation", "RuntimeError", r"Dist\w*Error"),
        ],
        cause="The ranks waited for one another until the timeout{who}.",
        fix="See what that rank did. If it was only slow, raise dist_env.timeout_minutes (AutoModel's default is 1).",
        weak=True,
    ),
    sign(
        "peer-lost",
        ["Connection closed by peer", "Connection reset by peer", "remote process exited", "NCCL error"],
        [
            raised(
                ".*(?:Connection (?:closed|reset) by peer|remote process exited|NCCL error)", "RuntimeError", r"Dist\w*Error"
            ),
            r".*NCCL WARN .*(?:remote process exited|Connection (?:closed|reset))",
        ],
        cause="A rank went away without a word{who}.",
        fix="Look at its node: memory, GPU, and its own log there.",
        weak=True,
    ),
)
