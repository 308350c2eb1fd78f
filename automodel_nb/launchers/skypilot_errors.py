"""SkyPilot's exceptions, in one line, with the command that mends it. Nothing here imports `sky`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LONGEST = 240  # characters of a message of SkyPilot's that we do not know
_NO_SERVER = frozenset({"ApiServerConnectionError", "ServerTemporarilyUnavailableError"})
_GONE = frozenset({"ClusterDoesNotExist", "ClusterNotUpError"})
# words of the clouds' own error codes, which SkyPilot passes on
_QUOTA = re.compile(r"quota|VcpuLimitExceeded|LimitExceeded|limit[^.\n]{0,40}exceeded", re.IGNORECASE)
_CAPACITY = re.compile(
    r"InsufficientInstanceCapacity|ZONE_RESOURCE_POOL_EXHAUSTED|SkuNotAvailable|AllocationFailed|out of capacity|"
    r"insufficient[- ](?:instance[- ])?capacity|capacity",
    re.IGNORECASE,
)
_EXPIRED = re.compile(r"expired|ExpiredToken|RefreshError|reauth|InvalidClientTokenId|AADSTS", re.IGNORECASE)
_LOGINS = {"aws": "aws sso login", "gcp": "gcloud auth application-default login", "azure": "az login"}


@dataclass(frozen=True, slots=True)
class Explained:
    """An exception in a user's words.

    Attributes:
        message: one line, without colours.
        fix: what to type or change; empty where there is nothing to say.
        field: the field of the section that it is about, None where there is none.
        unreachable: the server did not answer, so that nothing is known.
        gone: the cluster does not exist, or is not up.
    """

    message: str
    fix: str = ""
    field: str | None = None
    unreachable: bool = False
    gone: bool = False

    def __str__(self) -> str:
        return f"{self.message} ({self.fix})" if self.fix else self.message


def explain(error: BaseException) -> Explained:
    """An exception that SkyPilot raised, in a user's words."""
    text = plain(str(error))
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & _NO_SERVER:
        found = re.search(r"https?://[^\s'\"]+", text)
        where = f" at {_without_password(found.group())}" if found else ""
        return Explained(f"the SkyPilot API server{where} does not answer", "start it with `!sky api start`", unreachable=True)
    if "ApiServerAuthenticationError" in kinds:
        return Explained("the SkyPilot API server asks for a login", "log in with `!sky api login`", unreachable=True)
    if kinds & {"APIVersionMismatchError", "APINotSupportedError"}:
        return Explained(
            "the SkyPilot API server is of another version than the client here",
            "restart a local one with `!sky api stop; sky api start`, or install the server's version",
            unreachable=True,
        )
    if kinds & {"ConnectionError", "Timeout", "ReadTimeout", "ConnectTimeout"} and "raw.githubusercontent.com" not in text:
        return Explained(f"the SkyPilot API server does not answer: {first_line(text)}", unreachable=True)
    if "raw.githubusercontent.com" in text or "skypilot-catalog" in text:
        return Explained(
            "SkyPilot cannot download its catalog of instances and prices",
            "it comes from raw.githubusercontent.com: check the network and HTTPS_PROXY of the API server",
        )
    if kinds & _GONE:
        return Explained(first_line(text), gone=True)
    if "RequestCancelled" in kinds:
        return Explained("the launch was cancelled")
    if "NoCloudAccessError" in kinds:
        return Explained("SkyPilot has access to no cloud", "see what is missing with `!sky check`")
    if "CloudUserIdentityError" in kinds or "InvalidCloudCredentials" in kinds or _EXPIRED.search(text):
        return _credentials(text)
    if "ResourcesUnavailableError" in kinds or "ResourcesMismatchError" in kinds:
        return _unavailable(text)
    if "InvalidClusterNameError" in kinds:
        return Explained(f"SkyPilot does not take the name: {first_line(text)}", "change job_name", "job_name")
    return Explained(first_line(text) or type(error).__name__, field=field_of(text))


def field_of(text: str) -> str | None:
    """The field of the section that a message of SkyPilot's is about, as far as its words say."""
    for field, words in {
        "num_nodes": r"num_nodes",
        "disk_size": r"disk_size",
        "instance_type": r"instance[ _]type",
        "accelerators": r"[Aa]ccelerator",
        "zone": r"\bzone\b",
        "region": r"\bregion\b",
        "workdir": r"[Ww]orkdir",
        "file_mounts": r"[Ff]ile[ _]mount|storage|bucket",
        "use_spot": r"\bspot\b|use_spot",
        "infra": r"\binfra\b",
        "cloud": r"\b[Cc]loud\b",
    }.items():
        if re.search(words, text):
            return field
    return None


def plain(text: str) -> str:
    """Text without colours and cursor movements."""
    return _ESCAPES.sub("", text)


def first_line(text: str) -> str:
    """The first line that says something, of a length that one line can bear."""
    line = next((line.strip() for line in plain(text).splitlines() if line.strip()), "")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _unavailable(text: str) -> Explained:
    if found := re.search(r"requires ([\w ,]+?) which is not enabled", text):
        cloud = found.group(1).strip()
        return Explained(f"SkyPilot has no access to {cloud}", f"see what is missing with `!sky check {cloud}`", "cloud")
    asked = _asked(text)
    if found := re.search(r"offered accelerators: (\[[^\]]*\])", text):
        offered = ", ".join(_names(found.group(1)))
        return Explained(f"no instance offers {asked}", f"offered: {offered}", "accelerators")
    if found := re.search(
        r"^\s*(\w+)\s{2,}(\S.*?)\s*$", text.partition("not supported by")[2].partition("Reason")[2], re.MULTILINE
    ):
        return Explained(found.group(2).rstrip("."), field={"spot_instance": "use_spot"}.get(found.group(1)))
    if _QUOTA.search(text):
        return Explained(
            f"the account's quota does not allow {asked}", "ask for more at the cloud, or try another region", "region"
        )
    if _CAPACITY.search(text):
        return Explained(f"no capacity for {asked} now", "try another region or instance type, or wait", "region")
    if "Failed to provision" in text:
        tried = re.findall(r"^\s*✗ (.+?)(?: — .*)?$", text, re.MULTILINE)
        why = next((line.strip() for line in text.partition("✗")[2].splitlines()[1:] if line.strip()), "")
        why = first_line(re.sub(r" for \{.*", "", why))
        said = f": {', '.join(tried)} said: {why}" if tried and why else ""
        return Explained(f"{asked} could not be provisioned{said}", "try another region or instance type", "region")
    if "does not contain any instances" in text:
        return Explained(f"no enabled cloud offers {asked}", "see what there is with `!sky gpus list`", "accelerators")
    return Explained(first_line(text), field=field_of(text))


def _asked(text: str) -> str:
    """What was asked for, as SkyPilot repeats it: ``2x AWS([Spot], {'H100': 8})`` becomes ``2 x H100:8 (spot) on AWS``."""
    found = re.search(r"(\d+)x (?:<?(\w+)>?)\(([^)\n]*)\)", text)
    if not found:
        return "what is asked for"
    nodes, cloud, inside = found.groups()
    gpus = re.search(r"\{'([^']+)': ([\d.]+)\}", inside)
    what = f"{gpus.group(1)}:{gpus.group(2)}" if gpus else "the instance"
    spot = " (spot)" if "[Spot]" in inside else ""
    return f"{nodes} x {what}{spot}" + (f" on {cloud}" if cloud.lower() != "cloud" else "")


def _names(text: str) -> list[str]:
    try:
        return [str(name) for name in ast.literal_eval(text)]
    except (ValueError, SyntaxError):
        return [text.strip("[]")]


def _credentials(text: str) -> Explained:
    cloud = next((name for name in _LOGINS if re.search(rf"\b{name}\b|{name}_", text, re.IGNORECASE)), None)
    fix = f"log in with `!{_LOGINS[cloud]}`, then `!sky check {cloud}`" if cloud else "see which with `!sky check`"
    return Explained(f"the credentials{f' for {cloud}' if cloud else ''} are expired or not valid", fix, "cloud")


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url).rstrip("/.,;")
