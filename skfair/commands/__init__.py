"""Commands of the shell: files in, sentences, pages and JSON out, and an exit status."""

from skfair.commands._certify import add_certify_command as add_certify_command
from skfair.commands._compare import add_compare_command as add_compare_command
from skfair.commands._monitor import add_monitor_command as add_monitor_command
from skfair.commands._options import describe_error as describe_error
from skfair.commands._options import print_warnings as print_warnings
from skfair.commands._plan import add_plan_command as add_plan_command
from skfair.commands._report import add_report_command as add_report_command
from skfair.commands._subgroups import add_subgroups_command as add_subgroups_command

__all__: list[str] = []
