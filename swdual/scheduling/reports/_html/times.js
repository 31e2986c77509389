// Times of a trace: seconds, and dates where the trace tells when it began.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].flatMap((count) => [count, count * MINUTE]),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].map((count) => count * DAY),
].sort((a, b) => a - b);
/** Seconds between two ticks. */

/** Seconds after 1970 up to which there are dates. */
const LATEST_DATE = 200_000_000_000;

/**
 * Return a date (UTC) as text, to the second.
 * @param {number} time  Seconds since 1970.
 */
function printDate(time) {
  return new Date(Math.round(time) * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/**
 * Return a time of the trace: its date if that is known, else its seconds.
 * @param {number} time
 * @param {number|null} unixStart  Seconds since 1970 at which second 0 is.
 */
function printTime(time, unixStart) {
  if (hasDates(time, unixStart)) return printDate(unixStart + time);
  return `${time.toLocaleString("en-US", { maximumFractionDigits: 3 })} s`;
}

/**
 * @param {number} time
 * @param {number|null} unixStart
 */
function hasDates(time, unixStart) {
  return unixStart !== null && unixStart + time >= 0 && unixStart + time < LATEST_DATE;
}

/**
 * Return how long something takes, in a unit of its size.
 * @param {number} time  Seconds.
 */
function printDuration(time) {
  if (Number.isNaN(time)) return "-";
  for (const [length, unit] of /** @type {[number, string][]} */ ([
    [DAY, "d"],
    [HOUR, "h"],
    [MINUTE, "min"],
  ]))
    if (Math.abs(time) >= 2 * length)
      return `${(time / length).toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
  return `${time.toLocaleString("en-US", { maximumFractionDigits: 1 })} s`;
}

/**
 * Return the ticks of an axis of time, and what the axis is called.
 * @param {number} low
 * @param {number} high
 * @param {number|null} unixStart
 * @param {number} most  About how many ticks there may be.
 * @returns {{ places: number[], labels: string[], name: string }}
 */
function timeTicks(low, high, unixStart, most) {
  const rough = (high - low) / Math.max(1, most);
  const step = rough > 0.5 ? (TIME_STEPS.find((each) => each >= rough) ?? 10_000 * DAY) : 0;
  if (hasDates(low, unixStart) && hasDates(high, unixStart) && step) {
    const places = multiples(low + unixStart, high + unixStart, step).map((t) => t - unixStart);
    const dates = places.map((place) => printDate(place + unixStart));
    if (step >= DAY)
      return { places, labels: dates.map((date) => date.slice(0, 10)), name: "date (UTC)" };
    const [from, to] = step >= MINUTE ? [5, 16] : [11, 19];
    const what = step >= MINUTE ? "month-day and time" : "time";
    const since = printDate(low + unixStart).slice(0, step >= MINUTE ? 4 : 10);
    return {
      places,
      labels: dates.map((date) => date.slice(from, to)),
      name: `${what} (UTC), ${since}`,
    };
  }
  const [length, unit] = /** @type {[number, string]} */ (
    [
      [DAY, "days"],
      [HOUR, "hours"],
      [MINUTE, "minutes"],
    ].find(([size]) => step && step % Number(size) === 0) ?? [1, "seconds"]
  );
  const places = step ? multiples(low, high, step) : ticks(low, high, most);
  const print = (place) => (place / length).toLocaleString("en-US", { maximumFractionDigits: 6 });
  return { places, labels: places.map(print), name: unit };
}

/**
 * Return the multiples of a step between two bounds.
 * @param {number} low
 * @param {number} high
 * @param {number} step
 */
function multiples(low, high, step) {
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}
