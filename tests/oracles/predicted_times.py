"""Start times under EASY backfilling with predicted run times, from the text of two papers.

Tsafrir, Etsion and Feitelson (TPDS 2007): the requested time only says when a job is killed. Its
prediction is the mean run time of the two jobs that its user submitted last and that have ended,
or of the one that there is, if this is less than the request. A job that outlives its prediction
is expected to run as long as it requests. EASY++ tries the jobs behind the first by predictions,
the shortest first. Gaussier, Glesser, Reis and Trystram (SC'15): the mean of the two that ended
last (none: the request), and corrections that add 1, 5, 15, 30 minutes, 1, 2, 5, 10, 20, 50, 100
hours to the first prediction, or double the last one, to a second at least; here up to the request.

A job is (submit time, run time, requested time, processors). In an instant jobs end, then jobs are
submitted, then predictions are corrected, then jobs start. Nothing starts between instants.
"""

MINUTES = 1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000


def easy(jobs, users, processors, predictor, correction, shortest_first):
    """Return the start of each job, and its predictions: the first, and each correction."""
    starts, ends = {}, {}
    predictions = [[] for _ in jobs]

    def predict(j):
        _, run, requested, _ = jobs[j]
        if predictor == "perfect":
            return min(run, requested)
        mine = [i for i in ends if users[i] == users[j] and ends[i] <= now]
        if predictor == "last_two":
            mine.sort()
        else:
            mine.sort(key=lambda i: (ends[i], i))
        last = [ends[i] - starts[i] for i in mine[-2:]]
        if not last or (predictor == "ave2" and len(last) < 2):
            return requested
        return min(sum(last) / len(last), requested)

    def correct(j):
        requested, known = jobs[j][2], predictions[j]
        if correction == "incremental" and len(known) <= len(MINUTES):
            return min(known[0] + 60 * MINUTES[len(known) - 1], requested)
        if correction == "doubling":
            return min(max(2 * known[-1], 1), requested)
        return requested

    def expected_end(j):
        return starts[j] + predictions[j][-1]

    def start(j):
        starts[j] = now
        ends[j] = now + min(jobs[j][1:3])

    now = float("-inf")
    while len(starts) < len(jobs):
        now = min(time for time in [*(job[0] for job in jobs), *ends.values()] if time > now)
        for j, (submit, *_) in enumerate(jobs):
            if submit == now:
                predictions[j].append(predict(j))
        running = [j for j in starts if ends[j] > now]
        for j in running:
            while expected_end(j) <= now:
                predictions[j].append(correct(j))
        free = processors - sum(jobs[j][3] for j in running)
        queue = [j for j, known in enumerate(predictions) if known and j not in starts]
        while queue and jobs[queue[0]][3] <= free:
            free -= jobs[queue[0]][3]
            running.append(queue[0])
            start(queue.pop(0))
        if not queue:
            continue
        head = queue.pop(0)
        room, shadow = free, now
        for j in sorted(running, key=expected_end):
            if room >= jobs[head][3] and expected_end(j) > shadow:
                break
            room, shadow = room + jobs[j][3], expected_end(j)
        extra = room - jobs[head][3]
        if shortest_first:
            queue.sort(key=lambda j: predictions[j][0])
        for j in queue:
            needed = jobs[j][3]
            in_time = now + predictions[j][0] <= shadow
            if needed <= free and (in_time or needed <= extra):
                free -= needed
                extra -= 0 if in_time else needed
                start(j)
    return [starts[j] for j in range(len(jobs))], predictions
