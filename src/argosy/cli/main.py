"""The `argosy` command: which subcommands there are, and what a person sees when one fails.

A subcommand's module is imported when it is run and not before, so that `argosy --help` answers
at once. Every error that argosy knows becomes one sentence on stderr and the exit code of its
kind; anything else is a defect and shows its traceback.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from argosy import __version__
from argosy.cli.signals import stop_as_interrupted
from argosy.errors import ArgosyError, OutsideError
from argosy.suggest import did_you_mean

__all__ = ["COMMANDS", "cli", "main"]

# name -> (module, what `argosy --help` says); the order is the order of the work
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("argosy.cli.init", "Write a platform directory to start from."),
    "lock": ("argosy.cli.lock", "Pin every remote reference in argosy.lock."),
    "vendor": ("argosy.cli.vendor", "Write a mirror of all that the lock names."),
    "verify": ("argosy.cli.verify", "Prove that a mirror is complete."),
    "render": ("argosy.cli.render", "Build every app into rendered/<env>/."),
    "check": ("argosy.cli.check", "Find what is wrong with the rendered platform."),
    "diff": ("argosy.cli.diff", "Show what changes, against git or the live cluster."),
    "apply": ("argosy.cli.apply", "Bring the cluster to the rendered state, in order."),
    "status": ("argosy.cli.status", "Show each app's health and drift."),
    "explain": ("argosy.cli.explain", "Say why an object or a field is as it is."),
    "rehearse": ("argosy.cli.rehearse", "Try an upgrade on a fresh simulated cluster."),
    "delete": ("argosy.cli.delete", "Take the platform down, in reverse order."),
    "schema": ("argosy.cli.schema", "Print the JSON Schema of platform.yaml."),
    "dev": ("argosy.cli.dev", "Start and stop local clusters with simulated nodes."),
    "demo": ("argosy.cli.demo", "Bring up the example platform on a local cluster."),
}

INTERRUPTED = 130  # what a shell reports for ^C: 128 + SIGINT


class _LazyGroup(click.Group):
    """A group whose commands are modules that export `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(
                "; ".join(
                    filter(None, [f"there is no command {name!r}", did_you_mean(name, COMMANDS)])
                ),
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="argosy")
def cli() -> None:
    """Assemble a Kubeflow platform from upstream parts, check it, and bring it to a cluster.

    \b
    Example:
      argosy init my-platform --preset kubeflow && cd my-platform
      argosy lock && argosy render && argosy check
      argosy apply
    """


def main() -> None:
    """Run the command line and exit with 0 (fine), 1 (findings), 2 (usage) or 3 (outside)."""
    stop_as_interrupted()
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.Abort:
        code = _say("interrupted; the same command goes on from here", INTERRUPTED)
    except click.UsageError as error:
        asked = error.ctx.command_path if error.ctx else "argosy"
        text = error.format_message().rstrip(".")
        code = _say(f"{text[:1].lower()}{text[1:]}; see `{asked} --help`", error.exit_code)
    except click.ClickException as error:
        code = _say(error.format_message(), ArgosyError.exit_code)
    except ArgosyError as error:
        code = _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        code = _say("interrupted; the same command goes on from here", INTERRUPTED)
    except BrokenPipeError:
        # the reader went away (`argosy diff | head`): not an error, and nothing left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        code = _say(f"{place}{error.strerror or error}", OutsideError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str, code: int) -> int:
    click.echo(f"argosy: {text}", err=True)
    return code


if __name__ == "__main__":
    main()
