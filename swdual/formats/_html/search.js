// The page of a search: its queries, and for each one its hits.

const PRINTED_HITS = 50;

/**
 * What is shown now: a query, a hit of it, and the elements that hold them.
 * @type {{
 *   search: any,
 *   queries: DataTable|null,
 *   table: DataTable|null,
 *   hits: any,
 *   query: number,
 *   row: number,
 *   width: number,
 *   colouring: any,
 *   view: Map<string, string>,
 *   place: HTMLElement|null,
 *   pictures: HTMLElement|null,
 *   overview: SVGElement|null,
 *   print: HTMLElement|null,
 *   detail: HTMLElement|null,
 *   resized: ResizeObserver|null,
 * }}
 */
const page = {
  search: null,
  queries: null,
  table: null,
  hits: null,
  query: -1,
  row: -1,
  width: -1,
  colouring: "identity",
  view: new Map(),
  place: null,
  pictures: null,
  overview: null,
  print: null,
  detail: null,
  resized: null,
};

/** Build the page from its data and the state in its address. */
async function start() {
  const search = await readBlock("search");
  const place = document.getElementById("report");
  const { queries } = search;
  page.search = search;
  if (queries.id.length) await showPage(place, queries);
  document.documentElement.classList.add("ready");
  performance.mark("ready");
}

/**
 * Show the queries and the one that the address tells.
 * @param {HTMLElement} place
 * @param {any} queries
 */
async function showPage(place, queries) {
  document.querySelector("header").prepend(buildThemeButton());
  page.place = element("section", { class: "query", "aria-label": "Query" });
  const state = readFragment();
  const first = Math.min(Number(state.get("q") ?? 1) || 1, queries.id.length) - 1;
  page.colouring = state.get("colour") ?? "identity";
  if (queries.id.length > 1) {
    page.queries = buildQueries(page.search);
    place.replaceChildren(
      element(
        "div",
        { class: "panes" },
        element("nav", { "aria-label": "Queries" }, page.queries.element),
        page.place,
      ),
    );
    page.queries.current = first;
    page.queries.reveal();
    page.queries.render();
  } else place.replaceChildren(page.place);
  await showQuery(Math.max(0, first), state);
}

/**
 * Return the round of an iterated search as it follows the name of a query.
 * @param {number} round  0 in other searches.
 */
function nameRound(round) {
  return round ? `, round ${round}` : "";
}

/**
 * Return the table of queries.
 * @param {any} search
 */
function buildQueries(search) {
  const { queries } = search;
  const labels = queries.id.map((id, row) => id + nameRound(queries.round[row]));
  const best = numbers(queries.best);
  const { evaluated } = search;
  const table = new DataTable({
    label: "Queries",
    noun: ["query", "queries"],
    count: queries.id.length,
    selects: false,
    columns: [
      {
        name: "id",
        label: "Query",
        kind: "text",
        values: labels,
        draw: (cell, row) => fill(cell, { title: queries.title[row] }, [labels[row]]),
      },
      {
        name: "hits",
        label: "Hits",
        kind: "number",
        values: queries.hits,
        width: "58px",
        falls: true,
        print: (row) => group(queries.hits[row]),
      },
      {
        name: "best",
        label: evaluated ? "Best E" : "Best",
        kind: "number",
        values: best,
        width: "76px",
        falls: !evaluated,
        print: (row) =>
          Number.isNaN(best[row]) ? "" : evaluated ? printShortEvalue(best[row]) : group(best[row]),
      },
    ],
    filters: [{ name: "query", label: "Find", kind: "contains", columns: ["id", "title"] }],
    texts: { title: queries.title },
    name: (row) => labels[row],
    onCurrent: (row) => row !== page.query && showQuery(row, withoutRow(page.view)),
    onChange: () => {},
  });
  return table;
}

/**
 * Return the hits of a query as columns, with those that follow from others.
 * @param {any} search
 * @param {number} number
 */
async function readHits(search, number) {
  const block = await readBlock(`query-${number}`);
  const { columns, letters } = block;
  const hits = {
    ...columns,
    queryId: search.queries.id[number],
    queryTitle: search.queries.title[number],
    qlen: search.queries.length[number],
  };
  hits.count = hits.rank.length;
  hits.query = block.query;
  hits.before = block.before ?? 0; // Letters of the whole query before the part that is compared.
  hits.fit = block.fit;
  hits.cigar = letters.cigar;
  hits.targetPart = letters.target;
  hits.queryPart = letters.query;
  for (const name of ["bits", "evalue", "pident", "qcovhsp", "qcovs"])
    if (hits[name]) hits[name] = numbers(hits[name]);
  const derive = (name, needed, value) => {
    if (!hits[name] && needed.every((other) => hits[other]))
      hits[name] = Float64Array.from({ length: hits.count }, (_, row) => value(row));
  };
  derive("pident", ["nident", "length"], (row) => (100 * hits.nident[row]) / hits.length[row]);
  derive(
    "mismatch",
    ["length", "nident", "gaps"],
    (row) => hits.length[row] - hits.nident[row] - hits.gaps[row],
  );
  if (hits.qlen)
    derive(
      "qcovhsp",
      ["qstart", "qend"],
      (row) => (100 * (hits.qend[row] - hits.qstart[row])) / hits.qlen,
    );
  hits.best = Math.max(0, ...(hits.score ?? []).slice(0, 1));
  // A table may have places in whole queries, of which only parts were compared.
  hits.whole = block.whole ?? (bounds(hits.qend ?? [])[1] > hits.qlen ? undefined : hits.qlen);
  hits.extent = Math.max(hits.qlen ?? 0, bounds(hits.qend ?? [])[1] - hits.before);
  const several =
    hits.count > 0 && hits.rank.some((rank, row) => row > 0 && rank === hits.rank[row - 1]);
  hits.noun = several ? ["alignment", "alignments"] : ["hit", "hits"];
  hits.describe = (row) => {
    const parts = [`${hits.rank[row]}. ${hits.id[row]}`];
    if (hits.bits) parts.push(`${printBits(hits.bits[row])} bits`);
    else if (hits.score) parts.push(`score ${hits.score[row]}`);
    if (hits.evalue) parts.push(`E-value ${printShortEvalue(hits.evalue[row])}`);
    return `${parts.join(", ")}, ${hits.qstart[row] + 1}–${hits.qend[row]}`;
  };
  return hits;
}

/**
 * Show a query.
 * @param {number} number
 * @param {Map<string, string>} state
 */
async function showQuery(number, state) {
  const { search } = page;
  page.query = number;
  const hits = await readHits(search, number);
  if (page.query !== number) return; // another was asked for meanwhile
  page.resized?.disconnect();
  page.hits = hits;
  page.row = -1;
  page.width = -1;
  page.view = state;
  const title = search.queries.title[number];
  const rest = restOfTitle(title, hits.queryId);
  const round = nameRound(search.queries.round[number]);
  const head = element(
    "div",
    { class: "query-head" },
    element(
      "h2",
      {},
      linkTo(hits.queryId, search.bases),
      `${round} `,
      element("span", { class: "rest" }, rest),
    ),
    element("p", { class: "faint" }, describeQuery(search, hits, number)),
  );
  page.detail = element("section", { class: "detail", "aria-label": "Alignment", tabindex: "-1" });
  if (!hits.count) {
    page.place.replaceChildren(
      head,
      element(
        "p",
        { class: "note" },
        `No hits found${search.filters ? `: ${search.filters}` : ""}.`,
      ),
    );
    page.table = null;
    return remember();
  }
  page.table = buildHits(search, hits);
  page.table.state = state;
  page.pictures = element("div", { class: "pictures" });
  page.print = element("div", { class: "print-only" });
  page.place.replaceChildren(
    head,
    page.pictures,
    buildTools(search, hits),
    page.table.element,
    page.print,
    page.detail,
  );
  page.resized = new ResizeObserver(() => requestAnimationFrame(drawPictures));
  page.resized.observe(page.place);
  drawPictures();
  page.table.render();
  page.table.go(Math.max(0, page.table.view.indexOf(Number(state.get("row")) - 1)));
  remember();
}

/**
 * Say how long a query is, how many hits it has, and of how many the alignments are here.
 * @param {any} search
 * @param {any} hits
 * @param {number} number
 */
function describeQuery(search, hits, number) {
  const count = search.queries.hits[number];
  const parts = [pluralize(count, "hit", "hits")];
  const size = pluralize(hits.qlen ?? 0, "residue", "residues");
  if (hits.qlen) parts.unshift(hits.whole > hits.qlen ? `${size} of ${group(hits.whole)}` : size);
  if (hits.cigar.length && count > search.limit)
    parts.push(`alignments of the best ${group(search.limit)}`);
  return parts.join(", ");
}

/** Draw the overview and the scores, as wide as there is room. */
function drawPictures() {
  const { hits, place } = page;
  const width = Math.floor(place.clientWidth);
  if (!hits || width === page.width) return;
  page.width = width;
  const histogram = countScores(hits);
  const wide = width > 760 && histogram !== null;
  const scores = wide ? Math.min(420, Math.floor(width * 0.34)) : width;
  page.pictures.replaceChildren();
  page.overview = null;
  if (hits.qstart) {
    page.overview = drawOverview(hits, wide ? width - scores - 28 : width, (row) =>
      page.table.open(row, true),
    );
    const shown = Math.min(MOST_DRAWN, page.search.queries.hits[page.query]);
    const title =
      shown === 1
        ? "Where the hit lies in the query"
        : `Where the best ${shown} hits lie in the query`;
    page.pictures.append(
      element("figure", {}, element("h3", {}, title), page.overview, drawLegend(hits)),
    );
  }
  if (histogram)
    page.pictures.append(
      element("figure", {}, element("h3", {}, histogram.title), drawScores(histogram, scores, 200)),
    );
  if (page.row >= 0) showAlignment(page.row);
}

/**
 * Return the table of the hits of a query.
 * @param {any} search
 * @param {any} hits
 */
function buildHits(search, hits) {
  const percent = (values) => (row) => (Number.isNaN(values[row]) ? "" : fixed(values[row], 0));
  const titles = hits.title.map((title, row) => restOfTitle(title, hits.id[row]));
  const hasTitles = titles.some((title) => title);
  const longest = Math.max(...hits.id.slice(0, 100).map((id) => id.length));
  /** @type {Column[]} */
  const columns = [
    {
      name: "rank",
      label: "#",
      kind: "number",
      values: hits.rank,
      width: `${28 + 9 * Math.max(2, String(hits.rank.at(-1)).length)}px`,
      minor: 3,
    },
    {
      name: "id",
      label: "Target",
      kind: "text",
      values: hits.id,
      // As wide as identifiers are, so that the rest is for the titles.
      width: hasTitles ? `${16 + 8.5 * Math.min(Math.max(6, longest), 24)}px` : undefined,
      draw: (cell, row) =>
        fill(cell, { title: hits.title[row] }, [linkTo(hits.id[row], search.bases)]),
    },
  ];
  /** @param {Column} column  One that the page may lack. */
  const add = (column) => column.values && columns.push(column);
  if (hasTitles) add({ name: "title", label: "Title", kind: "text", values: titles, minor: 2 });
  add({
    name: "organism",
    label: "Organism",
    hint: "Organisms of the target",
    kind: "text",
    values: hits.organism,
    width: "12%",
    minor: 1,
  });
  add({
    name: "bits",
    label: "Bits",
    kind: "number",
    values: hits.bits,
    width: "58px",
    falls: true,
    minor: hits.evalue ? 2 : 3,
    print: (row) => printBits(hits.bits[row]),
  });
  add({
    name: "evalue",
    label: "E-value",
    kind: "number",
    values: hits.evalue,
    width: "92px",
    print: (row) => printEvalue(hits.evalue[row]),
  });
  add({
    name: "score",
    label: "Score",
    kind: "number",
    values: hits.score,
    width: "62px",
    falls: true,
    minor: hits.bits ? 1 : undefined,
  });
  add({
    name: "pident",
    label: "Ident. %",
    hint: "Percentage of equal letters",
    kind: "number",
    values: hits.pident,
    width: "76px",
    falls: true,
    print: (row) => (Number.isNaN(hits.pident[row]) ? "" : fixed(hits.pident[row], 1)),
  });
  const cover = hits.qcovhsp ? "qcovhsp" : "qcovs";
  add({
    name: cover,
    label: "Cover %",
    hint: `Percentage of the query in ${hits.qcovhsp ? "the alignment" : "all alignments of the target"}`,
    kind: "number",
    values: hits[cover],
    width: "74px",
    falls: true,
    minor: 3,
    print: percent(hits[cover]),
  });
  add({
    name: "length",
    label: "Length",
    hint: "Columns of the alignment",
    kind: "number",
    values: hits.length,
    width: "68px",
    falls: true,
    minor: 1,
  });
  add({
    name: "slen",
    label: "Target len.",
    hint: "Residues of the target",
    kind: "number",
    values: hits.slen,
    width: "84px",
    falls: true,
    minor: 1,
  });
  add({
    name: "qstart",
    label: "In the query",
    hint: "First residue; the bar is all of the query that is compared",
    kind: "number",
    values: hits.qstart,
    width: "116px",
    minor: 2,
    draw: (cell, row) => cell.append(drawExtent(hits, row)),
  });
  /** @type {Filter[]} */
  const filters = [{ name: "text", label: "Text", kind: "contains", columns: ["title"] }];
  if (hits.evalue)
    filters.push({ name: "maxe", label: "E-value", kind: "max", columns: ["evalue"] });
  else if (hits.score)
    filters.push({ name: "minscore", label: "Score", kind: "min", columns: ["score"] });
  if (hits.pident)
    filters.push({
      name: "minident",
      label: "Identity",
      kind: "min",
      columns: ["pident"],
      unit: "%",
    });
  if (hits[cover])
    filters.push({
      name: "mincover",
      label: "Cover",
      kind: "min",
      columns: [cover],
      unit: "%",
    });
  return new DataTable({
    label: `Hits of ${hits.queryId}`,
    noun: hits.noun,
    count: hits.count,
    selects: true,
    columns,
    filters,
    texts: { title: hits.title },
    name: (row) => hits.id[row],
    onCurrent: (row, asked) => {
      showAlignment(row);
      if (asked) page.detail.scrollIntoView({ block: "nearest" });
      remember();
    },
    onChange: remember,
  });
}

/**
 * Draw which part of the query an alignment covers.
 * @param {any} hits
 * @param {number} row
 */
function drawExtent(hits, row) {
  const bar = element("span", { class: `grade-${gradeOf(hits, row)}` });
  bar.style.left = `${(100 * (hits.qstart[row] - hits.before)) / hits.extent}%`;
  bar.style.width = `${Math.max(1, (100 * (hits.qend[row] - hits.qstart[row])) / hits.extent)}%`;
  return element(
    "span",
    {
      class: "extent",
      title: `${hits.qstart[row] + 1}–${hits.qend[row]}${hits.whole ? ` of ${hits.whole}` : ""}`,
    },
    bar,
  );
}

/**
 * Return the buttons of what can be saved.
 * @param {any} search
 * @param {any} hits
 */
function buildTools(search, hits) {
  const stem = hits.queryId.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 60) || "query";
  const note = element("span", { class: "faint", role: "status" });
  const tools = element(
    "div",
    { class: "tools screen-only", role: "group", "aria-label": "Downloads" },
    element("span", { class: "faint" }, "Save the selected, or all shown:"),
  );
  const add = (label, hint, type, make) => {
    const press = () => {
      note.textContent = "";
      save(`${stem}.${label.toLowerCase()}`, make(page.table.chosen()), type);
    };
    tools.append(element("button", { type: "button", title: hint, click: press }, label));
  };
  /** Return the rows whose letters are here, and say how many are not. */
  const withLetters = (rows) => {
    const kept = rows.filter((row) => row < hits.cigar.length);
    if (kept.length < rows.length)
      note.textContent = `${group(rows.length - kept.length)} left out: their letters are not in this page`;
    return kept;
  };
  add("TSV", "BLAST's format 6", "text/tab-separated-values", (rows) =>
    makeTable(search, hits, rows),
  );
  if (hits.cigar.length)
    add("FASTA", "Aligned parts of the targets", "text/plain", (rows) =>
      makeFasta(hits, withLetters(rows)),
    );
  if (hits.cigar.length && hits.query)
    add("A3M", "Alignment along the query", "text/plain", (rows) =>
      makeA3m(search, hits, withLetters(rows)),
    );
  if (hits.qstart)
    add("SVG", "Picture of the overview", "image/svg+xml", () => makePicture(page.overview));
  tools.append(note);
  return tools;
}

/**
 * Return the rows of all alignments of a hit.
 * @param {any} hits
 * @param {number} row
 */
function rowsOfHit(hits, row) {
  const rank = hits.rank[row];
  let first = row;
  while (first > 0 && hits.rank[first - 1] === rank) first--;
  const rows = [];
  for (let k = first; k < hits.count && hits.rank[k] === rank; k++) rows.push(k);
  return rows;
}

/**
 * Show a hit with its alignments.
 * @param {number} row
 */
function showAlignment(row) {
  const { hits, search, detail } = page;
  page.row = row;
  const rows = rowsOfHit(hits, row);
  const id = hits.id[row];
  const head = element(
    "div",
    { class: "detail-head" },
    element(
      "h2",
      {},
      `${hits.rank[row]}. `,
      linkTo(id, search.bases),
      " ",
      element("span", { class: "rest" }, restOfTitle(hits.title[row], id)),
    ),
  );
  const known = rows.every((each) => each < hits.cigar.length);
  if (known) {
    const copy = element(
      "button",
      { type: "button", title: "As format 0 prints it" },
      "Copy as text",
    );
    const print = () =>
      search.source === "search"
        ? printHit(search, hits, rows)
        : rows
            .map((each) => `${printAlignment(search, alignmentOf(search, hits, each))}\n`)
            .join("\n");
    copy.addEventListener("click", () => copyText(copy, print()));
    head.append(element("div", { class: "tools screen-only" }, buildColouring(), copy));
  }
  detail.replaceChildren(head, ...rows.map((each) => buildAlignment(each, rows.length)));
}

/** Return the choice of colours. */
function buildColouring() {
  const choice = element(
    "select",
    {},
    ...["identity", "conservation", "none"].map((name) =>
      element("option", { value: name, selected: name === page.colouring }, name),
    ),
  );
  choice.addEventListener("change", () => {
    page.colouring = choice.value;
    showAlignment(page.row);
    page.detail.querySelector("select").focus();
    remember();
  });
  return element("label", { class: "faint" }, "Colours ", choice);
}

/**
 * Return one alignment with its numbers.
 * @param {number} row
 * @param {number} count  Alignments of the hit.
 */
function buildAlignment(row, count) {
  const { hits, search } = page;
  const facts = [];
  if (count > 1) facts.push(`Alignment ${row - rowsOfHit(hits, row)[0] + 1} of ${count}`);
  if (hits.bits) facts.push(`${printBits(hits.bits[row])} bits`);
  if (hits.score) facts.push(`score ${group(hits.score[row])}`);
  if (hits.evalue) facts.push(`E-value ${printEvalue(hits.evalue[row])}`);
  if (hits.nident && hits.length)
    facts.push(`identities ${printShare(hits.nident[row], hits.length[row])}`);
  else if (hits.pident) facts.push(`identity ${fixed(hits.pident[row], 1)} %`);
  if (hits.positive && hits.length && !search.bases)
    facts.push(`positives ${printShare(hits.positive[row], hits.length[row])}`);
  if (hits.gaps && hits.length) facts.push(`gaps ${printShare(hits.gaps[row], hits.length[row])}`);
  const place = (name, start, end, size) =>
    facts.push(
      `${name} ${group(start[row] + 1)}–${group(end[row])}${size ? ` of ${group(size)}` : ""}`,
    );
  if (hits.qstart) place("query", hits.qstart, hits.qend, hits.whole);
  if (hits.sstart) place("target", hits.sstart, hits.send, hits.slen?.[row]);
  const alignment = alignmentOf(search, hits, row);
  if (search.bases && alignment)
    facts.push(`strand plus/${strandOf(alignment) > 0 ? "plus" : "minus"}`);
  if (search.translates.includes(true) && hits.qframe && hits.sframe)
    facts.push(`frame ${printFrames(hits, row)}`);
  const part = element(
    "div",
    {},
    element("p", { class: "numbers" }, ...facts.map((fact) => element("span", {}, fact))),
  );
  if (!alignment) {
    const reason =
      search.source === "table" && !hits.cigar.length
        ? "The table that this page was made of holds no letters: only places and numbers are known."
        : `This page holds the alignments of the best ${group(search.limit)} hits of each query.`;
    part.append(element("p", { class: "note" }, reason));
  } else if (alignment.operations.length) {
    const point = element("p", { class: "point faint screen-only" });
    const columns = countColumns(alignment);
    part.append(
      drawAlignment(
        search,
        alignment,
        page.colouring,
        columns,
        (text) => (point.textContent = text),
      ),
      point,
    );
  } else part.append(element("p", { class: "note" }, "No residues align with a positive score."));
  return part;
}

/**
 * Return how many columns of an alignment fit beside its names and places: a round number.
 * @param {Alignment} alignment
 */
function countColumns(alignment) {
  const digits = String(Math.max(alignment.qend, alignment.send)).length;
  const room = Math.floor(page.place.clientWidth / letterWidth()) - 11 - 2 * digits;
  return Math.max(20, room - (room % 10));
}

/** Return the width of a letter of an alignment. */
function letterWidth() {
  const probe = element("pre", { class: "probe" }, "M".repeat(100));
  document.body.append(probe);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return width || 8;
}

/**
 * Copy a text, and say so.
 * @param {HTMLElement} button
 * @param {string} text
 */
async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 1500);
}

/**
 * Return what another query can be shown with: filters and order.
 * @param {Map<string, string>} view
 */
function withoutRow(view) {
  return new Map([...view].filter(([name]) => name !== "row"));
}

/** Write what is shown into the address. */
function remember() {
  const state = page.table ? new Map(page.table.state) : withoutRow(page.view);
  page.view = state;
  if (page.search.queries.id.length > 1) state.set("q", String(page.query + 1));
  if (page.row >= 0 && page.row !== page.table?.view[0]) state.set("row", String(page.row + 1));
  if (page.colouring !== "identity") state.set("colour", page.colouring);
  writeFragment(state);
}

addEventListener("beforeprint", () => {
  for (const about of document.querySelectorAll("details")) about.open = true;
  if (page.table) page.print.replaceChildren(page.table.plain(PRINTED_HITS));
});
start().catch((error) => {
  document
    .querySelector("header")
    .append(
      element(
        "p",
        { class: "note" },
        `This browser cannot show more than the table below: ${error}`,
      ),
    );
  throw error;
});
