// The page of simulations: schedules side by side, and for each one a chart, its jobs, and why a job
// started when it did.

const PRINTED_JOBS = 50;
const METRIC_WIDTH = 118; // pixels

/**
 * What is shown now: a schedule, a job of it, and the elements that hold them.
 * @type {{
 *   simulation: any,
 *   comparison: DataTable|null,
 *   run: number,
 *   jobs: Jobs|null,
 *   row: number,
 *   table: DataTable|null,
 *   chart: ScheduleChart|null,
 *   place: HTMLElement|null,
 *   detail: HTMLElement|null,
 *   print: HTMLElement|null,
 *   zoomed: View|null,
 *   state: Map<string, string>,
 *   scheme: string,
 * }}
 */
const page = {
  simulation: null,
  comparison: null,
  run: -1,
  jobs: null,
  row: -1,
  table: null,
  chart: null,
  place: null,
  detail: null,
  print: null,
  zoomed: null,
  state: new Map(),
  scheme: "",
};

/** Build the page from its data and the state in its address. */
async function start() {
  page.simulation = await readBlock("simulation");
  const { runs } = page.simulation;
  const state = readFragment();
  document.querySelector("header").prepend(buildThemeButton());
  page.place = element("section", { class: "run", "aria-label": "Schedule" });
  page.comparison = buildComparison(page.simulation);
  document
    .getElementById("report")
    .replaceChildren(
      element(
        "section",
        { class: "comparison", "aria-label": "Comparison" },
        page.comparison.element,
        element("div", { class: "print-only" }, page.comparison.plain(runs.length)),
      ),
      page.place,
    );
  const first = Math.min(Number(state.get("run") ?? 1) || 1, runs.length) - 1;
  page.zoomed = readView(state);
  page.comparison.current = page.comparison.view.indexOf(Math.max(0, first));
  page.comparison.render();
  await showRun(Math.max(0, first), state);
  document.documentElement.classList.add("ready");
  performance.mark("ready");
}

/**
 * Return the view of the chart that the address tells.
 * @param {Map<string, string>} state
 * @returns {View|null}
 */
function readView(state) {
  const [from, to, low, high] = (state.get("view") ?? "").split(" ").map(Number);
  return from < to && low < high ? { from, to, low, high } : null;
}

/**
 * Return the table of schedules.
 * @param {any} simulation
 */
function buildComparison(simulation) {
  const { columns, labels, metrics, shown } = simulation;
  const names = Object.keys(columns);
  const widths = names.map((name) => {
    const letters = Math.max(name.length, ...columns[name].map((text) => text.length));
    return Math.min(230, 20 + Math.max(60, 8.4 * letters));
  });
  const room = shown.map((name) => {
    const letters = Math.max(...metrics[name].texts.map((text) => text.length));
    return Math.max(METRIC_WIDTH, 20 + 8.4 * letters);
  });
  const table = new DataTable({
    label: "Schedules",
    noun: ["schedule", "schedules"],
    count: labels.length,
    selects: false,
    columns: [
      ...names.map((name, k) => ({
        name,
        width: `${widths[k]}px`,
        label: `${name[0].toUpperCase()}${name.slice(1)}`,
        kind: /** @type {"text"} */ ("text"),
        values: columns[name],
        draw: (cell, row) => fill(cell, { title: columns[name][row] }, [columns[name][row]]),
      })),
      ...shown.map((name, k) => ({
        name,
        label: metrics[name].label,
        hint: metrics[name].formula,
        kind: "number",
        values: numbers(metrics[name].values),
        width: `${room[k]}px`,
        falls: metrics[name].largeIsGood,
        draw: (cell, row) => drawMetric(cell, metrics[name], row),
      })),
    ],
    filters: [{ name: "find", label: "Find", kind: "contains", columns: names }],
    name: (row) => labels[row],
    onCurrent: (row) => row !== page.run && showRun(row, remembered()),
    onChange: remember,
  });
  const width = [...widths, ...room].reduce((sum, each) => sum + each);
  table.grid.style.minWidth = `${width}px`;
  return table;
}

/**
 * Write a value of a metric, and whether it is the best.
 * @param {HTMLElement} cell
 * @param {any} metric
 * @param {number} row
 */
function drawMetric(cell, metric, row) {
  if (!metric.best[row]) cell.textContent = metric.texts[row];
  else
    cell.append(
      element("strong", { title: "The best value" }, metric.texts[row]),
      element("span", { class: "unseen" }, " best"),
    );
}

/**
 * Show a schedule.
 * @param {number} number
 * @param {Map<string, string>} state
 */
async function showRun(number, state) {
  page.run = number;
  const { simulation } = page;
  const { labels, runs, slowdownBound } = simulation;
  const block = await readBlock(`run-${number}`);
  if (page.run !== number) return; // another was asked for meanwhile
  page.chart?.close();
  page.row = -1;
  page.state = state;
  page.jobs = readJobs(block, slowdownBound);
  page.chart = new ScheduleChart({
    run: block,
    jobs: page.jobs,
    processors: runs[number].processors,
    unixStart: runs[number].unixStart,
    label: labels[number],
    view: page.zoomed,
    onChoose: (row) => chooseJob(row),
    onView: (view) => {
      page.zoomed = view;
      rememberSoon();
    },
  });
  page.table = buildJobs(
    page.jobs,
    `Jobs of ${labels[number]}`,
    (row) => showJob(row),
    () => remember(),
  );
  page.table.state = state;
  page.print = element("div", { class: "print-only" });
  page.detail = element("section", { class: "detail", "aria-label": "Explanation" });
  page.place.replaceChildren(
    element("h2", {}, labels[number]),
    buildMetrics(simulation, number),
    ...describeBounds(block, page.jobs),
    page.chart.element,
    page.detail,
    buildTools(),
    page.table.element,
    page.print,
  );
  page.chart.draw();
  page.table.render();
  const wanted = page.jobs.number.indexOf(Number(state.get("job") ?? NaN));
  if (page.jobs.count) chooseJob(wanted >= 0 ? wanted : findLongest(page.jobs.waiting));
  remember();
}

/**
 * Return the row of the largest value.
 * @param {Float64Array} values
 */
function findLongest(values) {
  let best = 0;
  for (let row = 1; row < values.length; row++) if (values[row] > values[best]) best = row;
  return best;
}

/**
 * Return all metrics of a schedule.
 * @param {any} simulation
 * @param {number} number
 */
function buildMetrics(simulation, number) {
  const metrics = Object.values(simulation.metrics);
  const facts = metrics.flatMap((metric) => [
    element("dt", { title: metric.formula }, metric.label),
    element(
      "dd",
      {},
      metric.texts[number],
      " ",
      element("span", { class: "faint" }, metric.formula),
    ),
  ]);
  return element(
    "details",
    {},
    element("summary", {}, `All ${metrics.length} metrics`),
    element("dl", { class: "facts" }, ...facts),
  );
}

/**
 * Say what of the jobs and curves is not in the page.
 * @param {any} block
 * @param {Jobs} jobs
 */
function describeBounds(block, jobs) {
  const notes = [];
  if (jobs.count < block.count)
    notes.push(
      `Chart and table have ${group(jobs.count)} of ${group(block.count)} jobs: the first ` +
        `${group(block.first)}, and of the others the ${group(jobs.count - block.first)} that ` +
        "waited longest. Where the chart is hatched, other jobs ran, too. Metrics and curves are " +
        "of all jobs.",
    );
  if (!block.usage.exact) {
    const [begin, end] = block.usage.edges;
    notes.push(
      "The curves show means over spans of " +
        `${printDuration((end - begin) / block.usage.busy.length)}.`,
    );
  }
  return notes.map((note) => element("p", { class: "note" }, note));
}

/** Return the button that saves jobs. */
function buildTools() {
  const stem = page.simulation.labels[page.run].replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 60);
  const click = () =>
    save(`${stem || "jobs"}.csv`, makeCsv(page.jobs, page.table.chosen()), "text/csv");
  return element(
    "div",
    { class: "tools screen-only", role: "group", "aria-label": "Downloads" },
    element("span", { class: "faint" }, "Save the selected jobs, or all shown:"),
    element("button", { type: "button", title: "As --jobs-out writes them", click }, "CSV"),
  );
}

/**
 * Choose a job, in the table too if it passes the filters.
 * @param {number} row
 */
function chooseJob(row) {
  if (page.table.view.includes(row)) page.table.open(row);
  else showJob(row);
}

/**
 * Explain a job.
 * @param {number} row
 */
async function showJob(row) {
  const { run, simulation, jobs } = page;
  page.row = row;
  page.chart.choose(row);
  remember();
  const part = Math.floor(row / simulation.explanationsAtOnce);
  const texts = await readBlock(`explanations-${run}-${part}`);
  if (page.run !== run || page.row !== row) return; // another was asked for meanwhile
  page.detail.replaceChildren(
    element("h3", {}, `Why job ${jobs.number[row]} started when it did`),
    element(
      "pre",
      { class: "explanation", tabindex: "0" },
      texts[row % simulation.explanationsAtOnce],
    ),
  );
}

/** @returns {Map<string, string>} What is shown, as the address tells it. */
function remembered() {
  const state = new Map(page.table ? page.table.state : page.state);
  if (page.simulation.labels.length > 1) state.set("run", String(page.run + 1));
  if (page.row >= 0) state.set("job", String(page.jobs.number[page.row]));
  if (page.zoomed)
    state.set(
      "view",
      Object.values(page.zoomed)
        .map((value) => Number(value.toPrecision(12)))
        .join(" "),
    );
  return state;
}

/** Write what is shown into the address. */
function remember() {
  if (page.table) writeFragment(remembered());
}

/** Write it when nothing has moved for a while: browsers bound how often an address may change. */
function rememberSoon() {
  clearTimeout(rememberSoon.timer);
  rememberSoon.timer = setTimeout(remember, 200);
}
rememberSoon.timer = 0;

addEventListener("beforeprint", () => {
  for (const about of document.querySelectorAll("details")) about.open = true;
  page.scheme = document.documentElement.style.colorScheme;
  document.documentElement.style.colorScheme = "light";
  page.chart?.draw();
  if (page.table) page.print.replaceChildren(page.table.plain(PRINTED_JOBS));
});
addEventListener("afterprint", () => {
  document.documentElement.style.colorScheme = page.scheme;
});
start().catch((error) => {
  document
    .querySelector("header")
    .append(
      element(
        "p",
        { class: "note" },
        `This browser cannot show more than the tables below: ${error}`,
      ),
    );
  throw error;
});
