r"""Launch plans that refresh a registered solution: every hour, every night, and on demand.

    FLYTE_CODEGEN_SECRET=openai/OPENAI_API_KEY pyflyte register workflows/refresh.py workflows/schedules.py \
        --copy none --image registry.example/team/codegen-runner:1 --project flytesnacks --domain development \
        --version 1 --activate-launchplans

`--copy none`, because the image has all the code that the pods run, and this file has no task of its own. Copy it, and
fill in your solution's name, addresses and people. `{kickoff:...}` in an address is the time of the schedule, so that
each run reads the data of its own hour or day.
"""

from __future__ import annotations

from datetime import timedelta

from flytekit import CronSchedule, Email, FixedRate, LaunchPlan, PagerDuty, Slack
from flytekit.models.core.execution import WorkflowExecutionPhase
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.flyte.refresh import refresh

SOLUTION = "rainy-days"
PHASE = WorkflowExecutionPhase
BUDGET = {"max_calls": 10, "max_cost_usd": 1.0}

HOURLY = LaunchPlan.get_or_create(
    name="refresh-rainy-days-hourly",
    workflow=refresh,
    # A frequent schedule only checks: it pays for nothing, and pages somebody when the solution fails.
    default_inputs={
        "solution": SOLUTION,
        "data": {"weather": FlyteFile("s3://bucket/weather/{kickoff:%Y-%m-%d}/{kickoff:%H}.csv")},
        "drift": "any",
        "budget": {"max_calls": 0},
    },
    schedule=FixedRate(duration=timedelta(hours=1), kickoff_time_input_arg="kickoff"),
    notifications=[PagerDuty(phases=[PHASE.FAILED, PHASE.TIMED_OUT], recipients_email=["oncall@pagerduty.example"])],
)

NIGHTLY = LaunchPlan.get_or_create(
    name="refresh-rainy-days-nightly",
    workflow=refresh,
    default_inputs={
        "solution": SOLUTION,
        "data": {"weather": FlyteFile("s3://bucket/weather/day={kickoff:%Y-%m-%d}/weather.csv")},
        "tolerated": ["row count", "distribution precipitation"],
        "allowed_difference": 0.02,
        "budget": BUDGET,
    },
    schedule=CronSchedule(schedule="0 2 * * *", kickoff_time_input_arg="kickoff"),
    notifications=[
        Slack(phases=[PHASE.SUCCEEDED], recipients_email=["data@team.slack.example"]),
        Email(phases=[PHASE.FAILED, PHASE.TIMED_OUT], recipients_email=["data@team.example"]),
    ],
)

ON_DEMAND = LaunchPlan.get_or_create(
    name="refresh-rainy-days",
    workflow=refresh,
    default_inputs={"solution": SOLUTION, "approval": "always", "budget": BUDGET},
)
