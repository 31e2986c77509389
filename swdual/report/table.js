// A table of any columns: sorted, filtered, selected from. Only the rows in sight are elements, so
// that a table of 100,000 rows is as quick as one of ten.

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} label
 * @property {string} [hint]  What the column holds, in a sentence.
 * @property {"text"|"number"} kind
 * @property {ArrayLike<any>} values  One a row; NaN where there is no number.
 * @property {(row: number) => string} [print]  The text of a cell; by default the value.
 * @property {(cell: HTMLElement, row: number) => void} [draw]  Fills a cell instead.
 * @property {string} [width]  In CSS; a column without one takes what is left.
 * @property {boolean} [falls]  Whether the first click puts the largest value on top.
 * @property {1|2|3} [minor]  Narrow tables leave it out: 1 first, 3 last.
 */

/**
 * @typedef {object} Filter
 * @property {string} name
 * @property {string} label
 * @property {"contains"|"min"|"max"} kind
 * @property {string[]} columns  Those that the text is looked for in, or the one that is limited.
 * @property {string} [unit]
 * @property {string} [hint]
 */

/**
 * @typedef {object} TableOptions
 * @property {string} label  What the table is called to those who do not see it.
 * @property {[string, string]} noun  What a row is, one and many.
 * @property {number} count
 * @property {boolean} selects  Whether rows can be selected.
 * @property {Column[]} columns
 * @property {Object<string, string[]>} [texts]  Texts that filters look through besides columns.
 * @property {Filter[]} filters
 * @property {(row: number) => string} name  What a row is called.
 * @property {(row: number, asked: boolean) => void} onCurrent  The current row changed, or was opened.
 * @property {() => void} onChange  Filters, order or selection changed.
 */

const ROW_HEIGHT = 26;
const MAX_HEIGHT = 8_000_000; // browsers draw no taller elements; longer tables scroll faster
const SPARE_ROWS = 8; // above and below those in sight

class DataTable {
  /** @param {TableOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Map<string, Column>} */
    this.columns = new Map(options.columns.map((column) => [column.name, column]));
    /** @type {Map<string, string>} Texts of the filters that are set. */
    this.limits = new Map();
    /** @type {[string, boolean]|null} Column, and whether values fall. */
    this.order = null;
    /** @type {number[]} The rows that pass the filters, in their order. */
    this.view = Array.from({ length: options.count }, (_, row) => row);
    /** @type {Set<number>} */
    this.selected = new Set();
    this.current = -1; // in `view`
    /** @type {Map<string, string[]>} */
    this.lowered = new Map();
    this.build();
    this.update();
  }

  build() {
    const { columns, filters, label, selects } = this.options;
    this.id = `table-${++DataTable.made}`;
    this.inputs = new Map();
    this.bar = element("form", {
      class: "filters",
      role: "search",
      submit: (event) => event.preventDefault(),
    });
    for (const filter of filters) this.bar.append(this.buildFilter(filter));
    this.status = element("span", { class: "status", role: "status" });
    this.bar.append(this.status);
    this.all = element("input", {
      type: "checkbox",
      tabindex: "-1",
      "aria-label": "Select all that are shown",
      change: () => this.selectAll(),
    });
    const head = element(
      "tr",
      { "aria-rowindex": "1" },
      selects ? element("th", { class: "choice" }, this.all) : null,
    );
    const widths = element("colgroup", {}, selects ? element("col", { class: "choice" }) : null);
    for (const column of columns) {
      const button = element(
        "button",
        { type: "button", click: () => this.sortBy(column.name), title: column.hint },
        column.label,
      );
      head.append(
        element(
          "th",
          { class: cellClass(column), "data-column": column.name, scope: "col" },
          button,
        ),
      );
      const col = element("col", {
        class: column.minor ? `minor-${column.minor}` : null,
        "data-column": column.name,
      });
      if (column.width) col.style.width = column.width;
      widths.append(col);
    }
    this.above = element("td");
    this.below = element("td");
    this.body = element("tbody");
    this.head = head;
    this.grid = element(
      "table",
      {
        role: "grid",
        tabindex: "0",
        "aria-label": label,
        "aria-multiselectable": String(selects),
        keydown: (event) => this.onKey(event),
      },
      widths,
      element("thead", {}, head),
      element("tbody", { "aria-hidden": "true" }, element("tr", {}, this.above)),
      this.body,
      element("tbody", { "aria-hidden": "true" }, element("tr", {}, this.below)),
    );
    this.scroller = element("div", { class: "scroller", scroll: () => this.schedule() }, this.grid);
    this.empty = element(
      "p",
      { class: "empty", hidden: true },
      "Nothing passes the filters. ",
      element("button", { type: "button", click: () => this.clear() }, "Clear filters"),
    );
    this.element = element("div", { class: "data-table" }, this.bar, this.scroller, this.empty);
    new ResizeObserver(() => this.schedule()).observe(this.scroller);
  }

  /** @param {Filter} filter */
  buildFilter(filter) {
    const contains = filter.kind === "contains";
    const input = element("input", {
      type: contains ? "search" : "text",
      inputmode: contains ? null : "decimal",
      size: contains ? 18 : 6,
      placeholder: contains ? "" : "any",
      title: filter.hint,
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.limit(filter.name, input.value),
    });
    this.inputs.set(filter.name, input);
    const sign = { contains: "", min: "≥", max: "≤" }[filter.kind];
    return element(
      "label",
      {},
      `${filter.label} ${sign}`.trim(),
      " ",
      input,
      filter.unit ? ` ${filter.unit}` : null,
    );
  }

  /**
   * Set the text of a filter.
   * @param {string} name
   * @param {string} text
   */
  limit(name, text) {
    if (text.trim()) this.limits.set(name, text.trim());
    else this.limits.delete(name);
    this.update();
    this.options.onChange();
  }

  clear() {
    this.limits.clear();
    for (const input of this.inputs.values()) input.value = "";
    this.update();
    this.options.onChange();
  }

  /**
   * Sort by a column; once more, the other way; then as the rows came.
   * @param {string} name
   */
  sortBy(name) {
    const falls = Boolean(this.columns.get(name).falls);
    if (this.order?.[0] !== name) this.order = [name, falls];
    else this.order = this.order[1] === falls ? [name, !falls] : null;
    this.update();
    this.options.onChange();
  }

  /** Find the rows that pass the filters, and their order. */
  update() {
    const row = this.view[this.current];
    this.view = this.sort(this.find());
    this.current = this.view.indexOf(row);
    for (const cell of this.head.querySelectorAll("th[data-column]")) {
      const own = this.order?.[0] === cell.getAttribute("data-column");
      if (own) cell.setAttribute("aria-sort", this.order[1] ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    this.empty.hidden = this.view.length > 0 || this.options.count === 0;
    this.scroller.scrollTop = 0;
    this.tell();
    this.render();
  }

  /** @returns {number[]} The rows that pass the filters, as they came. */
  find() {
    let rows = Array.from({ length: this.options.count }, (_, row) => row);
    for (const filter of this.options.filters) {
      const text = this.limits.get(filter.name);
      const input = this.inputs.get(filter.name);
      input.removeAttribute("aria-invalid");
      if (text === undefined) continue;
      if (filter.kind === "contains") {
        const wanted = text.toLowerCase();
        const columns = filter.columns.map((name) => this.lower(name));
        rows = rows.filter((row) => columns.some((column) => column[row].includes(wanted)));
        continue;
      }
      const bound = Number(text);
      if (Number.isNaN(bound)) {
        input.setAttribute("aria-invalid", "true");
        continue;
      }
      const { values } = this.columns.get(filter.columns[0]);
      rows =
        filter.kind === "min"
          ? rows.filter((row) => values[row] >= bound)
          : rows.filter((row) => values[row] <= bound);
    }
    return rows;
  }

  /**
   * Sort rows; equal ones stay as they came, and those without a value are last.
   * @param {number[]} rows
   */
  sort(rows) {
    if (!this.order) return rows;
    const { values, kind } = this.columns.get(this.order[0]);
    const sign = this.order[1] ? -1 : 1;
    if (kind === "text")
      return rows.sort((a, b) =>
        values[a] === values[b] ? 0 : values[a] < values[b] ? -sign : sign,
      );
    const known = rows.filter((row) => !Number.isNaN(values[row]));
    const unknown = rows.filter((row) => Number.isNaN(values[row]));
    return known
      .sort((a, b) => (values[a] === values[b] ? 0 : sign * (values[a] < values[b] ? -1 : 1)))
      .concat(unknown);
  }

  /**
   * Return a column of texts in lower case.
   * @param {string} name
   */
  lower(name) {
    if (!this.lowered.has(name))
      this.lowered.set(
        name,
        Array.from(this.options.texts?.[name] ?? this.columns.get(name).values, (text) =>
          String(text).toLowerCase(),
        ),
      );
    return this.lowered.get(name);
  }

  /** @returns {number[]} The selected rows, in the order of the table; without any, all in view. */
  chosen() {
    return this.selected.size ? this.view.filter((row) => this.selected.has(row)) : this.view;
  }

  /** Say how many rows there are. */
  tell() {
    const { count, noun } = this.options;
    const shown = this.view.length;
    const parts = [
      shown === count
        ? pluralize(count, ...noun)
        : `${group(shown)} of ${pluralize(count, ...noun)}`,
    ];
    const selected = this.view.filter((row) => this.selected.has(row)).length;
    if (selected) parts.push(`${group(selected)} selected`);
    this.status.textContent = parts.join(", ");
    this.all.checked = selected > 0 && selected === shown;
    this.all.indeterminate = selected > 0 && selected < shown;
  }

  selectAll() {
    for (const row of this.view) {
      if (this.all.checked) this.selected.add(row);
      else this.selected.delete(row);
    }
    this.tell();
    this.render();
    this.options.onChange();
  }

  /**
   * Select a row, or no longer.
   * @param {number} row
   */
  toggle(row) {
    if (!this.selected.delete(row)) this.selected.add(row);
    this.tell();
    this.render();
    this.options.onChange();
  }

  /**
   * Make a row of the view the current one, and show it.
   * @param {number} place
   * @param {boolean} asked  Whether the reader opened it.
   */
  go(place, asked = false) {
    if (!this.view.length) return;
    this.current = Math.min(Math.max(place, 0), this.view.length - 1);
    this.reveal();
    this.render();
    this.options.onCurrent(this.view[this.current], asked);
  }

  /**
   * Make a row the current one, if it is in view.
   * @param {number} row
   * @param {boolean} asked
   */
  open(row, asked = false) {
    const place = this.view.indexOf(row);
    if (place >= 0) this.go(place, asked);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.target !== this.grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.go(this.current + steps[event.key]);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.view.length - 1);
    else if (event.key === "Enter") this.go(Math.max(0, this.current), true);
    else if ((event.key === " " || event.key === "x") && this.options.selects && this.current >= 0)
      this.toggle(this.view[this.current]);
    else return;
    event.preventDefault();
  }

  /** Pixels of the rows that are in sight. */
  get room() {
    return this.scroller.clientHeight - this.head.offsetHeight || 400;
  }

  /** Pixels that all rows take in the scroll bar. */
  get height() {
    return Math.min(this.view.length * ROW_HEIGHT, MAX_HEIGHT);
  }

  /** Rows that a pixel of the scroll bar stands for: so many that its end is that of the table. */
  get pace() {
    const hidden = this.height - this.room;
    return hidden > 0 ? (this.view.length - this.room / ROW_HEIGHT) / hidden : 1 / ROW_HEIGHT;
  }

  /** Scroll so that the current row is in sight. */
  reveal() {
    const { pace, scroller } = this;
    const top = scroller.scrollTop * pace;
    const shown = this.room / ROW_HEIGHT;
    if (this.current < top) scroller.scrollTop = this.current / pace;
    else if (this.current > top + shown - 1)
      scroller.scrollTop = Math.ceil((this.current + 1 - shown) / pace);
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.render();
    });
  }

  /** Make elements of the rows that are in sight. */
  render() {
    const { height, pace, room } = this;
    const count = this.view.length;
    const { scrollTop } = this.scroller;
    const top = scrollTop * pace;
    const first = Math.max(0, Math.floor(top) - SPARE_ROWS);
    const last = Math.min(count, first + Math.ceil(room / ROW_HEIGHT) + 2 * SPARE_ROWS);
    const above = Math.max(0, scrollTop - (top - first) * ROW_HEIGHT);
    this.above.style.height = `${above}px`;
    this.below.style.height = `${Math.max(0, height - above - (last - first) * ROW_HEIGHT)}px`;
    this.body.replaceChildren(
      ...this.view.slice(first, last).map((row, k) => this.buildRow(row, first + k)),
    );
    this.grid.setAttribute("aria-rowcount", String(count + 1));
    if (this.current >= first && this.current < last)
      this.grid.setAttribute("aria-activedescendant", `${this.id}-${this.current}`);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  /**
   * @param {number} row
   * @param {number} place
   */
  buildRow(row, place) {
    const chosen = this.selected.has(row);
    const line = element("tr", {
      id: `${this.id}-${place}`,
      "aria-rowindex": place + 2,
      "aria-selected": this.options.selects ? String(chosen) : null,
      class: place === this.current ? "current" : null,
      click: (event) => {
        if (event.target.closest("a, input")) return;
        this.grid.focus({ preventScroll: true });
        this.go(place, true);
      },
    });
    if (this.options.selects) {
      const box = element("input", {
        type: "checkbox",
        tabindex: "-1",
        "aria-label": `Select ${this.options.name(row)}`,
        change: () => this.toggle(row),
      });
      box.checked = chosen;
      line.append(element("td", { class: "choice" }, box));
    }
    for (const column of this.options.columns) {
      const cell = element("td", { class: cellClass(column) });
      if (column.draw) column.draw(cell, row);
      else cell.textContent = printCell(column, row);
      line.append(cell);
    }
    return line;
  }

  /** @returns {Map<string, string>} Filters and order, for the address. */
  get state() {
    const state = new Map(this.limits);
    if (this.order) state.set("sort", `${this.order[1] ? "-" : ""}${this.order[0]}`);
    return state;
  }

  /** @param {Map<string, string>} state */
  set state(state) {
    this.limits.clear();
    for (const { name } of this.options.filters) {
      const text = state.get(name) ?? "";
      this.inputs.get(name).value = text;
      if (text.trim()) this.limits.set(name, text.trim());
    }
    const sort = state.get("sort") ?? "";
    const name = sort.replace(/^-/, "");
    this.order = this.columns.has(name) ? [name, sort.startsWith("-")] : null;
    this.update();
  }

  /**
   * Return a plain table of the first rows of the view, as for print.
   * @param {number} most
   */
  plain(most) {
    const { columns } = this.options;
    return element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...columns.map((column) => element("th", { class: cellClass(column) }, column.label)),
        ),
      ),
      element(
        "tbody",
        {},
        ...this.view.slice(0, most).map((row) =>
          element(
            "tr",
            {},
            ...columns.map((column) => {
              const cell = element("td", { class: cellClass(column) });
              if (column.draw) column.draw(cell, row);
              else cell.textContent = printCell(column, row);
              return cell;
            }),
          ),
        ),
      ),
    );
  }
}
DataTable.made = 0;

/** @param {Column} column */
function cellClass(column) {
  return column.minor ? `${column.kind} minor-${column.minor}` : column.kind;
}

/**
 * @param {Column} column
 * @param {number} row
 */
function printCell(column, row) {
  return column.print ? column.print(row) : String(column.values[row]);
}
