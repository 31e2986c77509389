"""The waiting jobs that can start earlier, against looking at each of them anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.selection_rules import RULES

from swdual.scheduling.job import Job
from swdual.scheduling.profile import AvailabilityProfile
from swdual.scheduling.reservations import Reservation, Reservations


class Plan:
    """A profile with its reservations; `every` job is looked at when something was freed."""

    def __init__(self, processors, choose, *, every):
        self.profile = AvailabilityProfile(processors, by_processors=choose is not None)
        self.reservations = Reservations(self.profile)
        self.choose = choose
        self.every = every
        self.moved = 0

    def submit(self, job):
        start, which = self.profile.find_earliest(job.processors, job.requested_time, self.choose)
        self.reservations.add(Reservation(job, start, which))

    def start(self, now):
        due = self.reservations.find_due(now)
        for job, _, _ in due:
            self.reservations.remove(job)
        return due

    def end(self, now, reservation):
        job, start, which = reservation
        self.profile.release(now, start + job.requested_time, job.processors, which)
        self.reservations.lower_deficits(now, start + job.requested_time, which)

    def compress(self):
        if not self.every:
            self.moved += len(self.reservations.compress(self.choose))
            return
        for place in range(len(self.reservations)):
            job, start, held = before = self.reservations.release(place)
            need = job.processors, job.requested_time
            earlier, which = self.profile.find_earliest(*need, self.choose)
            if earlier < start:
                self.reservations.reserve(place, Reservation(job, earlier, which))
                self.reservations.lower_deficits(start, start + job.requested_time, held)
                self.moved += 1
            else:
                self.reservations.reserve(place, before)

    def start_early(self, now):
        if not self.every:
            self.moved += len(self.reservations.start_early(self.choose))
            return
        for place in range(len(self.reservations)):
            job, start, _ = before = self.reservations.release(place)
            need = job.processors, job.requested_time
            fits, which = self.profile.fits_now(*need, self.choose)
            if fits and start > now:
                self.reservations.reserve(place, Reservation(job, now, which))
                self.moved += 1
            else:
                self.reservations.reserve(place, before)

    def state(self):
        return [
            (job.index, start, None if which is None else which.tolist())
            for job, start, which in self.reservations
        ]


@pytest.mark.parametrize("now_only", [False, True])
@pytest.mark.parametrize("rule", ["count", *RULES])
@examples(60)
@given(seed=st.integers(0, 2**32 - 1), processors=st.integers(1, 200))
def test_no_job_is_missed_and_none_placed_otherwise(rule, now_only, seed, processors):
    """Through submissions, starts and early ends, in the order of conservative backfilling."""
    random = np.random.default_rng(seed)
    choose = None if rule == "count" else RULES[rule][0]
    plans = [Plan(processors, choose, every=every) for every in (False, True)]
    now, number, running = 0, 0, []
    for _ in range(40):
        for plan in plans:
            plan.profile.advance(now)
        running = [r for r in running if r.start_time + r.job.requested_time > now]
        for reservation in [r for r in running if random.random() < 0.3]:
            running = [r for r in running if r is not reservation]
            for plan in plans:
                plan.end(now, reservation)
        for plan in plans:
            if now_only:
                plan.start_early(now)
            else:
                plan.compress()
        for _ in range(random.integers(0, 4)):
            wide = int(np.ceil(processors * random.random() ** 2)) or 1
            job = Job(
                number, number, now, 1.0, float(random.integers(0 if now_only else 1, 12)), wide
            )
            number += 1
            for plan in plans:
                plan.submit(job)
        states = [plan.state() for plan in plans]
        assert states[0] == states[1]
        started, _ = [plan.start(now) for plan in plans]
        running += started
        steps = [now + int(random.integers(1, 4))]
        if plans[0].reservations:
            steps.append(int(plans[0].reservations.next_start))
        now = min(steps)
    assert plans[0].moved == plans[1].moved
