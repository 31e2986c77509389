// Processors over time, and below it the processors in use and the queue: one picture, which can be
// zoomed and moved.

const COLOURS = 9; // of jobs; see simulation.css
const MARGIN = { left: 62, right: 10, top: 8, bottom: 40 };
const CURVE_HEIGHT = 74;
const PANEL_GAP = 22;
const MAX_NUMBERED = 400; // rectangles that have the number of their job in them, at most
const MIN_SPAN = 2; // seconds, and processors, that the picture shows at least
const MAX_SMOOTH = 5000; // rectangles that are drawn with smooth edges, at most
const ZOOM = 1.6;
const HATCH = 9; // pixels between two lines

/**
 * @typedef {object} View
 * @property {number} from  Seconds.
 * @property {number} to
 * @property {number} low  Processors.
 * @property {number} high
 */

class ScheduleChart {
  /**
   * @param {object} options
   * @param {any} options.run  A block of the page.
   * @param {Jobs} options.jobs
   * @param {number} options.processors
   * @param {number|null} options.unixStart
   * @param {string} options.label
   * @param {View|null} options.view  What was shown of another schedule.
   * @param {(row: number) => void} options.onChoose  A job was clicked.
   * @param {(view: View) => void} options.onView
   */
  constructor(options) {
    this.options = options;
    this.chosen = -1;
    this.readRectangles();
    this.readCurves();
    const { edges } = this;
    const last = edges.length > 1 ? edges[edges.length - 1] : 1;
    /** @type {View} All there is. */
    this.whole = { from: edges[0] ?? 0, to: last, low: 0, high: options.processors };
    if (this.whole.to <= this.whole.from) this.whole.to = this.whole.from + 1;
    this.view = { ...(options.view ?? this.whole) };
    this.clamp();
    this.build();
    this.measure();
  }

  /** Make arrays of the rectangles: a job's range of processors while it ran. */
  readRectangles() {
    const { run, jobs } = this.options;
    const given = run.executions ?? { ...run.ended_on, row: null };
    const count = given.first.length;
    this.row = new Int32Array(count);
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    this.first = Int32Array.from(given.first);
    this.size = Int32Array.from(given.size);
    let place = 0;
    given.ranges.forEach((ranges, k) => {
      const row = given.row ? given.row[k] : k;
      for (let n = 0; n < ranges; n++, place++) {
        this.row[place] = row;
        this.begin[place] = given.row ? given.start[k] : jobs.start[row];
        this.end[place] = given.row ? given.end[k] : jobs.finish[row];
      }
    });
  }

  readCurves() {
    const { usage } = this.options.run;
    const { busy, waiting, power } = usage;
    const [begin, end] = usage.edges;
    this.edges = usage.exact
      ? Float64Array.from(usage.edges)
      : Float64Array.from(
          { length: busy.length + 1 },
          (_, k) => begin + ((end - begin) * k) / busy.length,
        );
    this.curves = [
      { name: "processors in use", values: busy, most: this.options.processors, colour: "busy" },
      { name: "jobs waiting", values: waiting, most: null, colour: "waiting" },
    ];
    if (power) this.curves.push({ name: "power (W)", values: power, most: null, colour: "power" });
  }

  build() {
    const { label, jobs, processors } = this.options;
    this.canvas = element("canvas", {
      tabindex: "0",
      role: "img",
      "aria-label": `${label}: ${pluralize(jobs.count, "job", "jobs")} on ${pluralize(
        processors,
        "processor",
        "processors",
      )} over time, the processors in use and the queue. The table of jobs has the numbers.`,
      "aria-describedby": "chart-keys",
      keydown: (event) => this.onKey(event),
      wheel: (event) => this.onWheel(event),
      pointerdown: (event) => this.onPress(event),
      pointermove: (event) => this.onMove(event),
      pointerup: (event) => this.onRelease(event),
      pointercancel: () => (this.drag = null),
      pointerleave: () => (this.point.textContent = ""),
      dblclick: (event) => this.zoom(1 / ZOOM, this.timeAt(event)),
    });
    const button = (text, hint, click) =>
      element("button", { type: "button", title: hint, click }, text);
    this.status = element("span", { class: "faint", role: "status" });
    this.tools = element(
      "div",
      { class: "tools", role: "group", "aria-label": "What the chart shows" },
      element(
        "span",
        { class: "tools screen-only" },
        button("Zoom in", "Key +", () => this.zoom(1 / ZOOM)),
        button("Zoom out", "Key -", () => this.zoom(ZOOM)),
        button("Earlier", "Left arrow", () => this.pan(-0.5)),
        button("Later", "Right arrow", () => this.pan(0.5)),
        button("All", "Key 0", () => this.show(this.whole)),
        button("Chosen job", "Key c: the time in which the chosen job waited and ran", () =>
          this.showChosen(),
        ),
      ),
      this.status,
    );
    this.point = element("p", { class: "point faint screen-only" });
    this.palette = element(
      "div",
      { hidden: true },
      ...Array.from({ length: COLOURS }, (_, k) => element("span", { class: `job-${k}` })),
      ...["ink", "faint", "line", "hatch", "ground", "busy", "waiting", "power"].map((name) =>
        element("span", { class: `ink-${name}`, "data-name": name }),
      ),
    );
    this.element = element(
      "div",
      { class: "chart" },
      this.tools,
      this.canvas,
      this.palette,
      this.point,
      element(
        "p",
        { class: "faint screen-only", id: "chart-keys" },
        "Drag to move, double-click or Ctrl and wheel to zoom, click a job to explain it. Keys: ",
        "arrows, + and -, [ and ] for processors, 0 for all, c for the chosen job.",
      ),
    );
    new ResizeObserver(() => this.schedule()).observe(this.canvas);
    this.watch = new MutationObserver(() => this.schedule());
    this.watch.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => this.schedule();
    this.dark.addEventListener("change", this.onScheme);
  }

  /** Stop to watch the page. */
  close() {
    this.watch.disconnect();
    this.dark.removeEventListener("change", this.onScheme);
  }

  /** Keep the view within all there is. */
  clamp() {
    const { view, whole } = this;
    for (const [a, b] of [
      ["from", "to"],
      ["low", "high"],
    ]) {
      const room = whole[b] - whole[a];
      const span = Math.min(room, Math.max(view[b] - view[a], Math.min(MIN_SPAN, room)));
      view[a] = Math.min(Math.max(view[a], whole[a]), whole[b] - span);
      view[b] = view[a] + span;
    }
  }

  /** @param {View} view */
  show(view) {
    this.view = { ...view };
    this.clamp();
    this.schedule();
    this.options.onView(this.view);
  }

  /**
   * Show a shorter or longer time.
   * @param {number} factor
   * @param {number} [about]  The time that stays where it is.
   */
  zoom(factor, about) {
    const { from, to } = this.view;
    const centre = about ?? (from + to) / 2;
    this.show({
      ...this.view,
      from: centre - (centre - from) * factor,
      to: centre + (to - centre) * factor,
    });
  }

  /**
   * Show fewer or more processors.
   * @param {number} factor
   */
  zoomProcessors(factor) {
    const { low, high } = this.view;
    const centre = (low + high) / 2;
    const half = ((high - low) / 2) * factor;
    this.show({ ...this.view, low: centre - half, high: centre + half });
  }

  /**
   * Move by parts of what is shown.
   * @param {number} times
   * @param {number} [processors]
   */
  pan(times, processors = 0) {
    const { from, to, low, high } = this.view;
    const [right, up] = [times * (to - from), processors * (high - low)];
    this.show({ from: from + right, to: to + right, low: low + up, high: high + up });
  }

  /** Show the time from the submission of the chosen job to its end. */
  showChosen() {
    const { jobs } = this.options;
    if (this.chosen < 0) return;
    const [begin, end] = [jobs.submit[this.chosen], jobs.finish[this.chosen]];
    const more = Math.max(1, (end - begin) / 4);
    this.show({ ...this.view, from: begin - more, to: end + more });
  }

  /** @param {number} row */
  choose(row) {
    this.chosen = row;
    this.schedule();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const deeds = {
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      ArrowUp: () => this.pan(0, 0.2),
      ArrowDown: () => this.pan(0, -0.2),
      "+": () => this.zoom(1 / ZOOM),
      "=": () => this.zoom(1 / ZOOM),
      "-": () => this.zoom(ZOOM),
      "]": () => this.zoomProcessors(1 / ZOOM),
      "[": () => this.zoomProcessors(ZOOM),
      0: () => this.show(this.whole),
      c: () => this.showChosen(),
    };
    if (!(event.key in deeds)) return;
    deeds[event.key]();
    event.preventDefault();
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    this.zoom(ZOOM ** Math.sign(event.deltaY), this.timeAt(event));
  }

  /** @param {PointerEvent} event */
  onPress(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, y: event.offsetY, view: this.view, moved: false };
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const { drag } = this;
    if (!drag) {
      const row = this.jobAt(event);
      this.point.textContent =
        row < 0 ? printTime(this.timeAt(event), this.options.unixStart) : this.describe(row);
      return;
    }
    const [right, down] = [event.offsetX - drag.x, event.offsetY - drag.y];
    drag.moved ||= Math.abs(right) + Math.abs(down) > 3;
    if (!drag.moved) return;
    const { from, to, low, high } = drag.view;
    const time = (-right * (to - from)) / this.width;
    const up = (down * (high - low)) / this.height;
    this.show({ from: from + time, to: to + time, low: low + up, high: high + up });
  }

  /** @param {PointerEvent} event */
  onRelease(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    const row = this.jobAt(event);
    if (row >= 0) this.options.onChoose(row);
  }

  /**
   * Say which job this is, and when it ran.
   * @param {number} row
   */
  describe(row) {
    const { jobs, unixStart } = this.options;
    return [
      `job ${jobs.number[row]}: ${pluralize(jobs.processors[row], "processor", "processors")}`,
      `submitted ${printTime(jobs.submit[row], unixStart)}`,
      `waited ${printDuration(jobs.waiting[row])}`,
      `ran ${printDuration(jobs.execution[row])}`,
    ].join(", ");
  }

  /** Find how many pixels there are for the processors. */
  measure() {
    const rest = MARGIN.top + MARGIN.bottom + this.curves.length * (CURVE_HEIGHT + PANEL_GAP);
    this.width = Math.max(1, this.canvas.clientWidth - MARGIN.left - MARGIN.right);
    this.height = Math.max(40, this.canvas.clientHeight - rest);
  }

  /** @param {MouseEvent} event */
  timeAt(event) {
    const { from, to } = this.view;
    return from + ((event.offsetX - MARGIN.left) / this.width) * (to - from);
  }

  /**
   * Return the job at a place, or -1.
   * @param {MouseEvent} event
   */
  jobAt(event) {
    const { low, high } = this.view;
    const time = this.timeAt(event);
    const place = high - ((event.offsetY - MARGIN.top) / this.height) * (high - low);
    if (place < low || place > high || event.offsetX < MARGIN.left) return -1;
    for (let k = 0; k < this.row.length; k++)
      if (
        this.begin[k] <= time &&
        time < this.end[k] &&
        this.first[k] <= place &&
        place < this.first[k] + this.size[k]
      )
        return this.row[k];
    return -1;
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  /** Draw what is in view, at the resolution of the screen. */
  draw() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    this.measure();
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
    /** @type {string[]} */
    this.jobColours = [];
    /** @type {Object<string, string>} */
    this.inks = {};
    for (const span of this.palette.children) {
      const { color } = getComputedStyle(span);
      const name = span.getAttribute("data-name");
      if (name) this.inks[name] = color;
      else this.jobColours.push(color);
    }
    this.drawJobs(pen);
    this.drawProcessorAxis(pen);
    this.curves.forEach((curve, k) => {
      const top = MARGIN.top + this.height + PANEL_GAP + k * (CURVE_HEIGHT + PANEL_GAP);
      this.drawCurve(pen, curve, top);
    });
    this.drawTimeAxis(pen);
    this.tell();
  }

  /** @param {number} time */
  x(time) {
    const { from, to } = this.view;
    return MARGIN.left + ((time - from) / (to - from)) * this.width;
  }

  /** @param {number} place  A processor. */
  y(place) {
    const { low, high } = this.view;
    return MARGIN.top + ((high - place) / (high - low)) * this.height;
  }

  /** @param {CanvasRenderingContext2D} pen */
  drawJobs(pen) {
    const { jobs } = this.options;
    const { view, width, height } = this;
    pen.fillStyle = this.inks.ground;
    pen.fillRect(MARGIN.left, MARGIN.top, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, width, height);
    pen.clip();
    this.drawHatching(pen);
    /** @type {number[][]} Rectangles in sight, by colour. */
    const seen = Array.from({ length: COLOURS }, () => []);
    this.shown = new Set();
    for (let k = 0; k < this.row.length; k++) {
      if (this.end[k] <= view.from || this.begin[k] >= view.to) continue;
      if (this.first[k] >= view.high || this.first[k] + this.size[k] <= view.low) continue;
      seen[this.row[k] % COLOURS].push(k);
      this.shown.add(this.row[k]);
    }
    // Of many rectangles those are drawn that cover the middle of a pixel: that is quick, and as much
    // of the picture is filled as of the platform.
    const many = seen.reduce((sum, places) => sum + places.length, 0) > MAX_SMOOTH;
    const ratio = devicePixelRatio || 1;
    const snap = many ? (value) => Math.round(value * ratio) / ratio : (value) => value;
    const roomy = [];
    seen.forEach((places, colour) => {
      pen.fillStyle = this.jobColours[colour];
      for (const k of places) {
        const left = snap(Math.max(this.x(this.begin[k]), MARGIN.left - 2));
        const right = snap(Math.min(this.x(this.end[k]), MARGIN.left + width + 2));
        const top = snap(Math.max(this.y(this.first[k] + this.size[k]), MARGIN.top - 2));
        const bottom = snap(Math.min(this.y(this.first[k]), MARGIN.top + height + 2));
        if (right <= left || bottom <= top) continue;
        // A line of the ground sets large rectangles apart; it would hide small ones.
        const [gapX, gapY] = [right - left > 4 ? 0.6 : 0, bottom - top > 4 ? 0.6 : 0];
        pen.fillRect(left, top, right - left - gapX, bottom - top - gapY);
        if (bottom - top > 12 && right - left > 16) roomy.push([k, left, right, top, bottom]);
      }
    });
    this.drawNumbers(pen, roomy);
    if (this.chosen >= 0) {
      pen.strokeStyle = this.inks.ink;
      pen.lineWidth = 2;
      for (let k = 0; k < this.row.length; k++) {
        if (this.row[k] !== this.chosen) continue;
        const [left, top] = [this.x(this.begin[k]), this.y(this.first[k] + this.size[k])];
        const wide = Math.max(2, this.x(this.end[k]) - left);
        pen.strokeRect(left, top, wide, this.y(this.first[k]) - top);
      }
      pen.lineWidth = 1;
      pen.setLineDash([4, 3]);
      const submitted = this.x(jobs.submit[this.chosen]);
      pen.beginPath();
      pen.moveTo(submitted, MARGIN.top);
      pen.lineTo(submitted, MARGIN.top + height);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.restore();
  }

  /**
   * Hatch the time in which other jobs ran, too, which the page does not hold.
   * @param {CanvasRenderingContext2D} pen
   */
  drawHatching(pen) {
    const until = this.options.run.complete_until;
    if (until === null) return;
    const [left, right] = [Math.max(MARGIN.left, this.x(until)), MARGIN.left + this.width];
    const bottom = MARGIN.top + this.height;
    pen.save();
    pen.beginPath();
    pen.rect(left, MARGIN.top, right - left, this.height);
    pen.clip();
    pen.strokeStyle = this.inks.hatch;
    pen.beginPath();
    for (let x = MARGIN.left - this.height; x < right; x += HATCH) {
      pen.moveTo(x, bottom);
      pen.lineTo(x + this.height, MARGIN.top);
    }
    pen.stroke();
    pen.restore();
  }

  /**
   * Write the numbers of jobs into rectangles that have room for them.
   * @param {CanvasRenderingContext2D} pen
   * @param {number[][]} roomy
   */
  drawNumbers(pen, roomy) {
    const { jobs } = this.options;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    roomy.sort((a, b) => (b[2] - b[1]) * (b[4] - b[3]) - (a[2] - a[1]) * (a[4] - a[3]));
    for (const [k, left, right, top, bottom] of roomy.slice(0, MAX_NUMBERED)) {
      const text = String(jobs.number[this.row[k]]);
      if (right - left < 7 * text.length + 6) continue;
      pen.fillStyle = isDark(this.jobColours[this.row[k] % COLOURS]) ? "#fff" : "#000";
      pen.fillText(text, (left + right) / 2, (top + bottom) / 2);
    }
  }

  /** @param {CanvasRenderingContext2D} pen */
  drawProcessorAxis(pen) {
    const { low, high } = this.view;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillStyle = this.inks.faint;
    const most = Math.min(this.height / 34, high - low);
    for (const place of ticks(low, high, most)) {
      if (place === Math.round(place)) pen.fillText(group(place), MARGIN.left - 6, this.y(place));
    }
    this.nameAxis(pen, "processors", MARGIN.top + this.height / 2);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} name
   * @param {number} middle
   */
  nameAxis(pen, name, middle) {
    pen.save();
    pen.translate(9, middle);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(name, 0, 0);
    pen.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {{ name: string, values: number[], most: number|null, colour: string }} curve
   * @param {number} top
   */
  drawCurve(pen, curve, top) {
    const { edges, view, width } = this;
    const bottom = top + CURVE_HEIGHT;
    const first = Math.max(0, findPlace(edges, view.from) - 1);
    const seen = curve.values.slice(first, findPlace(edges, view.to));
    const most = curve.most ?? seen.reduce((a, b) => Math.max(a, b), 1);
    const y = (value) => bottom - (value / most) * CURVE_HEIGHT;
    pen.fillStyle = this.inks.ground;
    pen.fillRect(MARGIN.left, top, width, CURVE_HEIGHT);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, top, width, CURVE_HEIGHT);
    pen.clip();
    pen.fillStyle = this.inks[curve.colour];
    pen.beginPath();
    pen.moveTo(this.x(edges[first]), bottom);
    let last = MARGIN.left;
    seen.forEach((value, k) => {
      last = this.x(edges[first + k + 1]);
      pen.lineTo(this.x(edges[first + k]), y(value));
      pen.lineTo(last, y(value));
    });
    pen.lineTo(last, bottom);
    pen.fill();
    pen.restore();
    pen.fillStyle = this.inks.faint;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText("0", MARGIN.left - 6, bottom - 4);
    pen.fillText(group(Math.round(most)), MARGIN.left - 6, top + 6);
    pen.textAlign = "left";
    pen.fillText(curve.name, MARGIN.left, top - 8);
  }

  /** @param {CanvasRenderingContext2D} pen */
  drawTimeAxis(pen) {
    const { from, to } = this.view;
    const { unixStart } = this.options;
    const axis = timeTicks(from, to, unixStart, this.width / 110);
    const bottom = MARGIN.top + this.height + this.curves.length * (CURVE_HEIGHT + PANEL_GAP);
    pen.fillStyle = this.inks.faint;
    pen.strokeStyle = this.inks.line;
    pen.textBaseline = "top";
    axis.places.forEach((place, k) => {
      const x = this.x(place);
      pen.beginPath();
      pen.moveTo(x, bottom);
      pen.lineTo(x, bottom + 5);
      pen.stroke();
      const half = pen.measureText(axis.labels[k]).width / 2;
      const middle = Math.min(Math.max(x, half + 2), this.canvas.clientWidth - half - 2);
      pen.textAlign = "center";
      pen.fillText(axis.labels[k], middle, bottom + 8);
    });
    pen.textAlign = "right";
    pen.fillText(axis.name, MARGIN.left + this.width, bottom + 24);
  }

  /** Say what is shown, also to those who do not see it. */
  tell() {
    const { from, to, low, high } = this.view;
    const { unixStart, run, processors } = this.options;
    const range = `${printTime(from, unixStart)} to ${printTime(to, unixStart)}`;
    const some =
      high - low < processors
        ? `, processors ${group(Math.floor(low))}–${group(Math.ceil(high) - 1)}`
        : "";
    this.status.textContent = `${range}${some}: ${group(this.shown.size)} of ${pluralize(
      run.count,
      "job",
      "jobs",
    )}`;
  }
}

/**
 * Return the first place whose value is above a bound, in ascending values.
 * @param {Float64Array} values
 * @param {number} bound
 */
function findPlace(values, bound) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * @param {string} colour  As browsers compute it: "rgb(1, 2, 3)".
 */
function isDark(colour) {
  const [red, green, blue] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
}
