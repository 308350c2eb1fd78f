"""The magics: parse the line, call, show. No logic lives here."""

from __future__ import annotations

import argparse
import difflib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import MagicArgumentParser, argument, magic_arguments
from IPython.utils.process import arg_split

from automodel_nb.errors import LaunchError, UsageError
from automodel_nb.findings import below_magic

if TYPE_CHECKING:
    from automodel_nb.job.handle import Job
    from automodel_nb.plan import Plan


def _parse(magic: Any, line: str) -> argparse.Namespace:
    """Parse a magic's line; a mistake is one line that says what to type instead."""
    parser: MagicArgumentParser = magic.parser
    name = parser.prog.strip("% ")

    def fail(message: str) -> NoReturn:
        raise UsageError(f"%{name}: {_with_suggestion(message, parser)}; `%{name}?` lists the options")

    parser.error = fail
    try:
        words = arg_split(line, posix=True)
    except ValueError as error:
        fail(str(error).lower())
    args: argparse.Namespace = parser.parse_args(words)
    return args


def _with_suggestion(message: str, parser: argparse.ArgumentParser) -> str:
    prefix, _, unknown = message.partition("unrecognized arguments: ")
    if prefix or not unknown:
        return message
    first = unknown.split()[0]
    options = [option for action in parser._actions for option in action.option_strings]
    near = difflib.get_close_matches(first.split("=")[0], options, 1, 0.5) if first.startswith("-") else []
    what = "there is no option" if first.startswith("-") else "one argument too many:"
    return f"{what} {first}" + (f", did you mean {near[0]}?" if near else "")


def _overrides(pairs: list[str] | None) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in pairs or []:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise UsageError(f"--set {pair}: write it as --set a.b=value, for example --set optimizer.lr=1e-4")
        given[path] = text
    return given


@magics_class
class AutomodelMagics(Magics):
    """Launch AutoModel training from a cell, and come back to it."""

    @no_var_expand
    @magic_arguments("%automodel_launch")
    @argument("method", nargs="?", help="interactive, slurm or skypilot; without it the YAML's launcher section decides")
    @argument("-c", "--config", metavar="FILE", help="the recipe is this file; what the cell says goes over it")
    @argument("--from", dest="base", metavar="JOB", help="the recipe is that of an earlier job")
    @argument("--set", action="append", metavar="a.b=value", help="set one value, of a field (slurm.nodes) or the recipe")
    @argument("-n", "--dry-run", action="store_true", help="show what would be submitted, and touch nothing")
    @argument("--check-cluster", action="store_true", help="with -n: ask Slurm if it would take it, and when it would start")
    @argument("--wait", action="store_true", help="stay until the job has ended; the cell fails when the job fails")
    @argument("--detach", action="store_true", help="return at once, the job goes on in the background")
    @argument("--name", help="the job's name")
    @argument("--profile", help="defaults of that name, out of automodel_nb.toml")
    @argument("--host", help="login node to launch from, by ssh (Slurm)")
    @argument("--ignore", action="append", default=[], metavar="CODE", help="pass over a finding")
    @argument("--as", dest="bind", metavar="NAME", help="bind the Job to this variable")
    @line_cell_magic
    def automodel_launch(self, line: str, cell: str = "") -> None:
        """Launch the training that the cell's YAML describes.

        The YAML is an AutoModel recipe, plus at most one launcher section: `interactive:`, `slurm:` or `skypilot:`.
        `%automodel_new slurm` writes a cell to start from.
        """
        args = _parse(self.automodel_launch, line)
        if args.bind and not args.bind.isidentifier():
            raise UsageError(f"--as {args.bind}: that is no variable's name")
        if args.check_cluster and not args.dry_run:
            raise UsageError("--check-cluster goes with --dry-run (-n): a launch asks the cluster anyway")
        plan = self._plan(args, cell)
        if args.dry_run:
            from automodel_nb.views import preview_html, preview_text
            from automodel_nb.widgets.display import Output

            view: Any = plan.view
            Output().show(preview_html(**view), preview_text(**view))
            return
        from automodel_nb.api import launch

        self._say_findings(plan)
        job = launch(plan)
        if args.bind:
            self.shell.user_ns[args.bind] = job
        self._show(job, stay=args.wait or (job.method == "interactive" and not args.detach))

    @no_var_expand
    @magic_arguments("%automodel_new")
    @argument("method", nargs="?", default="interactive", help="interactive, slurm or skypilot")
    @line_magic
    def automodel_new(self, line: str) -> None:
        """Write a cell to start from, below this one."""
        from automodel_nb.api import template

        method = _parse(self.automodel_new, line).method
        self.shell.set_next_input(f"%%automodel_launch {method}\n{template(method)}", replace=False)

    @no_var_expand
    @magic_arguments("%automodel_form")
    @argument("source", nargs="?", help="a recipe's file, or a launch method to begin from its template")
    @argument("--as", dest="bind", metavar="NAME", help="bind the form to this variable")
    @line_magic
    def automodel_form(self, line: str) -> None:
        """Show a form to launch from: fields and YAML, either of which can be edited; it writes a cell, or launches itself."""
        from automodel_nb.plan import METHODS
        from automodel_nb.widgets.form.view import form

        args = _parse(self.automodel_form, line)
        if args.bind and not args.bind.isidentifier():
            raise UsageError(f"--as {args.bind}: that is no variable's name")
        source = args.source
        made = form(source if source is None or source in METHODS else Path(source))
        if args.bind:
            self.shell.user_ns[args.bind] = made
        made.show()

    @no_var_expand
    @magic_arguments("%automodel_jobs")
    @argument("--all", action="store_true", help="more than the newest 50")
    @line_magic
    def automodel_jobs(self, line: str) -> None:
        """List the jobs of this and earlier kernels, newest first; in a browser the list stays current and can be filtered."""
        args = _parse(self.automodel_jobs, line)
        from automodel_nb.widgets.jobs import JobsTable

        JobsTable(None if args.all else 50)

    @no_var_expand
    @magic_arguments("%automodel_attach")
    @argument("job", nargs="?", default="last", help="a job's id, scheduler id or name; `last` is the newest")
    @argument("--wait", action="store_true", help="stay until the job has ended; the cell fails when the job fails")
    @argument("--as", dest="bind", metavar="NAME", help="bind the Job to this variable")
    @line_magic
    def automodel_attach(self, line: str) -> None:
        """Come back to a job: its card, and with --wait its log until it ends."""
        from automodel_nb.api import attach

        args = _parse(self.automodel_attach, line)
        job = attach(args.job)
        if args.bind:
            self.shell.user_ns[args.bind] = job
        self._show(job, stay=args.wait, stop_cancels=False)

    @no_var_expand
    @magic_arguments("%automodel_logs")
    @argument("job", nargs="?", default="last", help="a job's id, scheduler id or name; `last` is the newest")
    @argument("--tail", type=int, default=100, metavar="N", help="so many last lines (100)")
    @argument("--grep", metavar="TEXT", help="only lines that hold this text")
    @line_magic
    def automodel_logs(self, line: str) -> None:
        """Show the end of a job's log."""
        from automodel_nb.api import attach
        from automodel_nb.showing import log_lines
        from automodel_nb.views import lines_html, lines_text
        from automodel_nb.widgets.display import Output

        args = _parse(self.automodel_logs, line)
        lines = log_lines(attach(args.job), args.tail, args.grep)
        Output().show(lines_html(lines), lines_text(lines))

    @no_var_expand
    @magic_arguments("%automodel_cancel")
    @argument("job", help="a job's id, scheduler id or name; `last` is the newest")
    @argument("--down", action="store_true", help="remove its SkyPilot cluster too, with all that is on its disks")
    @line_magic
    def automodel_cancel(self, line: str) -> None:
        """Stop a job. An interactive one is asked to save first; cancel again to interrupt, and again to kill it."""
        from automodel_nb.api import attach

        args = _parse(self.automodel_cancel, line)
        job = attach(args.job)
        if args.down:
            job.down()
        else:
            job.cancel()
        self._show(job, stay=False)

    @no_var_expand
    @magic_arguments("%automodel_resume")
    @argument("job", nargs="?", default="last", help="a job's id, scheduler id or name; `last` is the newest")
    @argument("--set", action="append", metavar="a.b=value", help="set one value")
    @argument("--wait", action="store_true", help="stay until the job has ended")
    @argument("--detach", action="store_true", help="return at once")
    @argument("--as", dest="bind", metavar="NAME", help="bind the Job to this variable")
    @line_magic
    def automodel_resume(self, line: str) -> None:
        """Launch a job again from its newest complete checkpoint."""
        from automodel_nb.api import attach

        args = _parse(self.automodel_resume, line)
        job = attach(args.job).resume(_overrides(args.set))
        if args.bind:
            self.shell.user_ns[args.bind] = job
        self._show(job, stay=args.wait or (job.method == "interactive" and not args.detach))

    @no_var_expand
    @magic_arguments("%automodel_doctor")
    @argument("--host", help="login node by ssh, whose Slurm is looked at")
    @line_magic
    def automodel_doctor(self, line: str) -> None:
        """Say what is here, and what each launch method still lacks, with the command that mends it."""
        from automodel_nb.api import doctor
        from automodel_nb.views.health import health_html, health_text
        from automodel_nb.widgets.display import Output

        report = doctor(_parse(self.automodel_doctor, line).host)
        Output().show(health_html(report), health_text(report))

    def _plan(self, args: argparse.Namespace, cell: str) -> Plan:
        from automodel_nb import hosts
        from automodel_nb.api import checked_by_cluster, plan_from, plan_of

        hosts.again()  # a host that refused us is tried once more, since a user asks
        if args.base and args.config:
            raise UsageError("--from and -c both say where the recipe is: leave one out")
        common: dict[str, Any] = {
            "overrides": _overrides(args.set),
            "profile": args.profile,
            "host": args.host,
            "name": args.name,
            "ignore": args.ignore,
            "namespace": self.shell.user_ns,
        }
        try:
            if args.base:
                plan = plan_from(args.base, cell, args.method, **common)
            else:
                plan = plan_of(cell, args.method, file=Path(args.config) if args.config else None, **common)
            plan = checked_by_cluster(plan) if args.check_cluster else plan
        except LaunchError as error:
            raise type(error)(below_magic(error.findings)) from None
        return replace(plan, findings=below_magic(plan.findings))

    def _say_findings(self, plan: Plan) -> None:
        from automodel_nb.views import findings_html, findings_text
        from automodel_nb.widgets.display import Output

        if plan.findings and not plan.errors:
            Output().show(findings_html(plan.findings), findings_text(plan.findings))

    def _show(self, job: Job, *, stay: bool, stop_cancels: bool = True) -> None:
        if not stay:
            from automodel_nb.widgets.panel import Panel

            Panel(job)
            return
        from automodel_nb.api import failure
        from automodel_nb.errors import JobFailedError
        from automodel_nb.states import JobState
        from automodel_nb.widgets.stream import Stream

        state = Stream(job, stop_cancels=stop_cancels and job.method == "interactive").run()
        if state.final and not state.ok and state is not JobState.CANCELLED:
            raise JobFailedError(failure(job))


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics, and what Tab proposes for them."""
    from automodel_nb.widgets.completer import install

    ipython.register_magics(AutomodelMagics)
    install(ipython, {name: _options(magic) for name, magic in vars(AutomodelMagics).items() if hasattr(magic, "parser")})


def _options(magic: Any) -> list[str]:
    """The options of a magic's line."""
    return [option for action in magic.parser._actions for option in action.option_strings]


# IPython writes every usage as a cell magic's
for _name, _magic in vars(AutomodelMagics).items():
    if _name.startswith("automodel_") and _name != "automodel_launch":
        _magic.parser.prog = _name
        _magic.__doc__ = _magic.parser.format_help()
