// The jobs of a schedule: columns, those that follow from them, a table, and a file.

/**
 * @typedef {object} Jobs
 * @property {number} count  Those of the page.
 * @property {number[]} number
 * @property {ArrayLike<number>} submit
 * @property {number[]} processors
 * @property {ArrayLike<number>} requested
 * @property {ArrayLike<number>} start
 * @property {ArrayLike<number>} finish
 * @property {number[]} [user]
 * @property {number[]} [group]
 * @property {Float64Array} waiting
 * @property {Float64Array} turnaround
 * @property {Float64Array} execution
 * @property {Float64Array} slowdown
 * @property {Uint8Array} killed
 * @property {Uint8Array} backfilled
 * @property {any} endedOn  Ranges of processors.
 * @property {Int32Array} rangesFrom  Where those of a job begin.
 */

/**
 * Return the jobs of a schedule.
 * @param {any} run  A block of the page.
 * @param {number} bound  Seconds that a job counts at least in the bounded slowdown.
 * @returns {Jobs}
 */
function readJobs(run, bound) {
  const { jobs } = run;
  const count = jobs.number.length;
  const start = numbers(jobs.start);
  const finish = numbers(jobs.finish);
  const derive = (value) => Float64Array.from({ length: count }, (_, row) => value(row));
  const mark = (rows) => {
    const marks = new Uint8Array(count);
    for (const row of rows) marks[row] = 1;
    return marks;
  };
  const turnaround = derive((row) => finish[row] - jobs.submit[row]);
  const execution = derive((row) => finish[row] - start[row]);
  const processing = jobs.processing ? numbers(jobs.processing) : execution;
  return {
    ...jobs,
    count,
    start,
    finish,
    turnaround,
    execution,
    waiting: derive((row) => start[row] - jobs.submit[row]),
    slowdown: derive((row) => Math.max(1, turnaround[row] / Math.max(processing[row], bound))),
    killed: mark(jobs.killed),
    backfilled: mark(jobs.backfilled),
    endedOn: run.ended_on,
    rangesFrom: sumUp(run.ended_on.ranges),
  };
}

/**
 * Return where each group begins, and where the last one ends.
 * @param {number[]} counts
 */
function sumUp(counts) {
  const begins = new Int32Array(counts.length + 1);
  for (let k = 0; k < counts.length; k++) begins[k + 1] = begins[k] + counts[k];
  return begins;
}

/**
 * Return the processors that a job ended on, such as "0-3 7".
 * @param {Jobs} jobs
 * @param {number} row
 */
function printProcessors(jobs, row) {
  const { first, size } = jobs.endedOn;
  const parts = [];
  for (let k = jobs.rangesFrom[row]; k < jobs.rangesFrom[row + 1]; k++)
    parts.push(size[k] === 1 ? `${first[k]}` : `${first[k]}-${first[k] + size[k] - 1}`);
  return parts.join(" ");
}

/**
 * Return jobs as CSV, with the columns of Batsim's jobs.csv, as --jobs-out writes them.
 * @param {Jobs} jobs
 * @param {number[]} rows
 */
function makeCsv(jobs, rows) {
  const print = (value) => (Number.isNaN(value) ? "" : value);
  const columns = {
    job_id: (row) => jobs.number[row],
    submission_time: (row) => jobs.submit[row],
    requested_number_of_resources: (row) => jobs.processors[row],
    requested_time: (row) => jobs.requested[row],
    success: (row) => 1 - jobs.killed[row],
    final_state: (row) =>
      jobs.killed[row] ? "COMPLETED_WALLTIME_REACHED" : "COMPLETED_SUCCESSFULLY",
    starting_time: (row) => print(jobs.start[row]),
    execution_time: (row) => print(jobs.execution[row]),
    finish_time: (row) => print(jobs.finish[row]),
    waiting_time: (row) => print(jobs.waiting[row]),
    turnaround_time: (row) => print(jobs.turnaround[row]),
    stretch: (row) =>
      jobs.execution[row] > 0 ? print(jobs.turnaround[row] / jobs.execution[row]) : "",
    allocated_resources: (row) => printProcessors(jobs, row),
    ...(jobs.user && { user: (row) => jobs.user[row] }),
    ...(jobs.group && { group: (row) => jobs.group[row] }),
  };
  const lines = rows.map((row) =>
    Object.values(columns)
      .map((column) => column(row))
      .join(","),
  );
  return `${[Object.keys(columns).join(","), ...lines].join("\n")}\n`;
}

/**
 * Return the table of jobs.
 * @param {Jobs} jobs
 * @param {string} label
 * @param {(row: number, asked: boolean) => void} onCurrent
 * @param {() => void} onChange
 */
function buildJobs(jobs, label, onCurrent, onChange) {
  const time = (values) => (row) =>
    Number.isNaN(values[row]) ? "" : values[row].toLocaleString("en-US");
  /** @type {Column[]} */
  const columns = [
    { name: "number", label: "Job", kind: "number", values: jobs.number, width: "76px" },
    {
      name: "processors",
      label: "Processors",
      hint: "Processors that the job requests",
      kind: "number",
      values: jobs.processors,
      width: "104px",
      falls: true,
      minor: 3,
      print: (row) => group(jobs.processors[row]),
    },
    {
      name: "submit",
      label: "Submitted",
      hint: "Seconds of the trace",
      kind: "number",
      values: jobs.submit,
      minor: 2,
      print: time(jobs.submit),
    },
    {
      name: "start",
      label: "Started",
      hint: "Seconds of the trace",
      kind: "number",
      values: jobs.start,
      minor: 1,
      print: time(jobs.start),
    },
    {
      name: "finish",
      label: "Ended",
      hint: "Seconds of the trace",
      kind: "number",
      values: jobs.finish,
      minor: 1,
      print: time(jobs.finish),
    },
    {
      name: "waiting",
      label: "Waited",
      hint: "Seconds from submission to start",
      kind: "number",
      values: jobs.waiting,
      falls: true,
      draw: (cell, row) =>
        fill(cell, { title: printDuration(jobs.waiting[row]) }, [time(jobs.waiting)(row)]),
    },
    {
      name: "execution",
      label: "Ran",
      hint: "Seconds from start to end",
      kind: "number",
      values: jobs.execution,
      falls: true,
      minor: 2,
      draw: (cell, row) =>
        fill(cell, { title: printDuration(jobs.execution[row]) }, [time(jobs.execution)(row)]),
    },
    {
      name: "requested",
      label: "Requested",
      hint: "Seconds after which the job is killed",
      kind: "number",
      values: jobs.requested,
      falls: true,
      minor: 1,
      print: time(jobs.requested),
    },
    {
      name: "slowdown",
      label: "Slowdown",
      hint: "Bounded slowdown",
      kind: "number",
      values: jobs.slowdown,
      width: "88px",
      falls: true,
      print: (row) =>
        Number.isNaN(jobs.slowdown[row])
          ? ""
          : jobs.slowdown[row].toLocaleString("en-US", { maximumFractionDigits: 2 }),
    },
  ];
  if (jobs.user)
    columns.push({
      name: "user",
      label: "User",
      kind: "number",
      values: jobs.user,
      width: "62px",
      minor: 1,
    });
  columns.push({
    name: "outcome",
    label: "Remarks",
    kind: "text",
    values: Array.from({ length: jobs.count }, (_, row) =>
      [jobs.backfilled[row] ? "backfilled" : "", jobs.killed[row] ? "killed" : ""]
        .filter(Boolean)
        .join(", "),
    ),
    width: "130px",
    minor: 2,
  });
  return new DataTable({
    label,
    noun: ["job", "jobs"],
    count: jobs.count,
    selects: true,
    columns,
    filters: [
      { name: "job", label: "Job", kind: "contains", columns: ["number"] },
      { name: "minwait", label: "Waited", kind: "min", columns: ["waiting"], unit: "s" },
      { name: "minslow", label: "Slowdown", kind: "min", columns: ["slowdown"] },
      { name: "minproc", label: "Processors", kind: "min", columns: ["processors"] },
      { name: "remark", label: "Remarks", kind: "contains", columns: ["outcome"] },
    ],
    name: (row) => `job ${jobs.number[row]}`,
    onCurrent,
    onChange,
  });
}
