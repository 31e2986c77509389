// Sends a search, shows its progress, and then its result. Texts of the server and of the user are
// only ever set as text; a report runs in a frame that is no part of this site.

const PREVIEW = 200_000;
const SHOWN = ["evalue", "max_target_seqs"];
const FORMATS = [
  ["html", "report to look at"],
  ["tabular", "table of BLAST"],
  ["csv", "table (CSV)"],
  ["xlsx", "workbook (Excel)"],
  ["pairwise", "alignments as text"],
  ["json", "JSON"],
  ["xml", "XML of BLAST"],
  ["sam", "SAM"],
  ["paf", "PAF"],
];
const BINARY = ["xlsx"];

/** @param {string} id */
const get = (id) => /** @type {any} */ (document.getElementById(id));

/** The address of the job that runs, and its result. */
let job = "";
let saved = { name: "", blob: new Blob() };

/**
 * Send a request with the token; return the response if it is a good one.
 * @param {string} path
 * @param {RequestInit} [settings]
 */
async function ask(path, settings = {}) {
  const token = get("token").value.trim();
  const headers = { ...settings.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  const response = await fetch(path, { ...settings, headers });
  if (response.status === 401) get("login").hidden = false;
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ detail: `status ${response.status}` }));
  throw new Error(problem.detail);
}

/**
 * Show a sentence about the search.
 * @param {string} text
 * @param {boolean} [wrong]
 */
function tell(text, wrong = false) {
  get("message").textContent = text;
  get("message").className = wrong ? "wrong" : "";
}

/**
 * Return an element.
 * @param {string} name
 * @param {Record<string, any>} properties
 * @param {Node[]} children
 */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Offer the databases of the server. */
async function listDatabases() {
  const databases = await (await ask("databases")).json();
  const options = databases.map((/** @type {any} */ each) => {
    const kind = each.type === "prot" ? "proteins" : "nucleotide sequences";
    const text = `${each.name} (${each.sequences.toLocaleString("en")} ${kind})`;
    return make("option", { value: each.name, textContent: text });
  });
  get("database").replaceChildren(...options);
}

/** Make a field for each option that the description of the server has. */
async function listOptions() {
  const description = await (await ask("openapi.json")).json();
  const fields = description.components.schemas.SearchRequest.properties;
  for (const [name, schema] of Object.entries(fields.options.properties)) {
    if (!SHOWN.includes(name)) get("options").append(makeField(name, schema));
  }
  get("format").replaceChildren(
    ...FORMATS.map(([name, text]) => make("option", { value: name, textContent: text })),
  );
}

/**
 * Return a field for an option.
 * @param {string} name
 * @param {any} schema
 */
function makeField(name, schema) {
  const id = `option-${name}`;
  const standard = schema.default ?? "";
  let field;
  const choices = schema.type.includes("boolean") ? [true, false] : schema.enum;
  if (choices) {
    const values = choices.filter((/** @type {any} */ each) => each !== null);
    field = make(
      "select",
      { id },
      make("option", { value: "", textContent: standard === "" ? "default" : `default (${standard})` }),
      ...values.map((/** @type {any} */ each) =>
        make("option", { value: JSON.stringify(each), textContent: String(each) }),
      ),
    );
  } else if (schema.type.includes("string")) {
    field = make("input", { id, type: "text", maxLength: schema.maxLength, placeholder: standard });
  } else {
    const step = schema.type.includes("integer") ? "1" : "any";
    field = make("input", { id, type: "number", step, placeholder: standard });
    for (const bound of ["minimum", "maximum"]) {
      if (schema[bound] !== undefined) field.setAttribute(bound.slice(0, 3), schema[bound]);
    }
  }
  field.dataset.option = name;
  field.dataset.kind = choices ? "json" : schema.type[0];
  return make("div", {}, make("label", { htmlFor: id, textContent: name }), field);
}

/** Return the options that were chosen. */
function readOptions() {
  /** @type {Record<string, any>} */
  const chosen = {};
  for (const name of SHOWN) {
    if (get(name).value !== "") chosen[name] = Number(get(name).value);
  }
  for (const field of document.querySelectorAll("[data-option]")) {
    const { value, dataset } = /** @type {HTMLInputElement} */ (field);
    if (value === "") continue;
    const option = dataset.option ?? "";
    if (dataset.kind === "json") chosen[option] = JSON.parse(value);
    else chosen[option] = dataset.kind === "string" ? value : Number(value);
  }
  return chosen;
}

/**
 * Show the state of a job.
 * @param {any} state
 */
function showState(state) {
  const bar = get("bar");
  if (state.cells) bar.value = state.cells_done / state.cells;
  else bar.removeAttribute("value");
  const waiting = state.position > 1 ? `waiting; ${state.position - 1} searches come first` : "waiting";
  const words = { queued: waiting, running: `searching, ${Math.round(state.run_seconds)} s` };
  tell(words[/** @type {keyof typeof words} */ (state.state)] ?? state.summary);
  const texts = state.messages.map((/** @type {any} */ each) => make("li", { textContent: each.text }));
  get("messages").replaceChildren(...texts);
}

/**
 * Yield the state of a job whenever it changes.
 * @param {string} address
 */
async function* watch(address) {
  const response = await ask(`${address}/events`);
  const reader = /** @type {any} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const line = event.split("\n").find((each) => each.startsWith("data: "));
      if (line) yield JSON.parse(line.slice(6));
    }
  }
}

/**
 * Search, and show the result.
 * @param {SubmitEvent} event
 */
async function search(event) {
  event.preventDefault();
  get("start").disabled = true;
  get("save").hidden = true;
  get("result").replaceChildren();
  get("messages").replaceChildren();
  tell("sending the sequences");
  const format = get("format").value;
  try {
    if (!get("database").value) await listDatabases();
    const body = JSON.stringify({
      database: get("database").value,
      queries: get("queries").value,
      format,
      options: readOptions(),
    });
    const headers = { "Content-Type": "application/json" };
    let state = await (await ask("jobs", { method: "POST", headers, body })).json();
    job = `jobs/${state.id}`;
    get("cancel").hidden = get("bar").hidden = false;
    showState(state);
    for await (state of watch(job)) showState(state);
    if (state.problem) throw new Error(state.problem.detail);
    const result = await ask(`${job}/result`);
    await showResult(format, await result.blob());
  } catch (error) {
    tell(/** @type {Error} */ (error).message, true);
  } finally {
    get("start").disabled = false;
    get("cancel").hidden = get("bar").hidden = true;
    if (job) ask(job, { method: "DELETE" }).catch(() => {});
    job = "";
  }
}

/**
 * Show a result: a report in a frame, text as text.
 * @param {string} format
 * @param {Blob} blob
 */
async function showResult(format, blob) {
  const endings = { tabular: "tsv", pairwise: "txt" };
  const ending = endings[/** @type {keyof typeof endings} */ (format)] ?? format;
  saved = { name: `hits.${ending}`, blob };
  get("save").hidden = false;
  if (format === "html") {
    const frame = make("iframe", { title: "Report of the search", srcdoc: await blob.text() });
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    get("result").append(frame);
  } else if (!BINARY.includes(format)) {
    const text = await blob.slice(0, PREVIEW).text();
    const more = blob.size > PREVIEW ? "\n... Save shows all." : "";
    get("result").append(make("pre", { textContent: text + more, tabIndex: 0 }));
  }
}

get("search").addEventListener("submit", search);
get("cancel").addEventListener("click", () => {
  if (job) ask(job, { method: "DELETE" }).catch((error) => tell(error.message, true));
});
get("save").addEventListener("click", () => {
  const address = URL.createObjectURL(saved.blob);
  make("a", { href: address, download: saved.name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
});
get("token").addEventListener("change", () => {
  listDatabases().then(() => tell(""), (error) => tell(error.message, true));
});
const area = get("queries");
for (const kind of ["dragover", "dragleave", "drop"]) {
  area.addEventListener(kind, (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    area.classList.toggle("over", kind === "dragover");
  });
}
area.addEventListener("drop", async (/** @type {DragEvent} */ event) => {
  const file = event.dataTransfer?.files[0];
  if (file) area.value = await file.text();
});
addEventListener("pagehide", () => {
  if (job) ask(job, { method: "DELETE", keepalive: true }).catch(() => {});
});
Promise.all([listOptions(), listDatabases()])
  .catch((error) => tell(error.message, true))
  .finally(() => document.documentElement.classList.add("ready"));
