// Elements of the page. Texts become text nodes: nothing that the data say can become markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Set attributes of an element and append children.
 * @template {Element} T
 * @param {T} node
 * @param {Object<string, any>} attributes  Functions are listeners; null and false are left out.
 * @param {Array<Node|string|number|null>} children
 * @returns {T}
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(
    ...children
      .filter((child) => child !== null)
      .map((child) => (child instanceof Node ? child : String(child))),
  );
  return node;
}

/**
 * Return a new HTML element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Return a new SVG element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null)} children
 * @returns {SVGElement}
 */
function drawing(tag, attributes = {}, ...children) {
  return fill(/** @type {SVGElement} */ (document.createElementNS(SVG, tag)), attributes, children);
}

/**
 * Return a number with separators between thousands.
 * @param {number} value
 */
function group(value) {
  return value.toLocaleString("en-US");
}

/**
 * Return a number with its noun.
 * @param {number} count
 * @param {string} one
 * @param {string} many
 */
function pluralize(count, one, many) {
  return `${group(count)} ${count === 1 ? one : many}`;
}

/**
 * Return round numbers between two bounds, for an axis.
 * @param {number} low
 * @param {number} high
 * @param {number} most  About how many there may be.
 * @returns {number[]}
 */
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step)
    found.push(Math.round(value / step) * step);
  return found;
}

/**
 * Save a text as a file, under a name that the reader can change.
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Return a button that changes from light to dark colours and back. */
function buildThemeButton() {
  const root = document.documentElement;
  const isDark = () =>
    (root.style.colorScheme ||
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = element("button", { type: "button", class: "theme screen-only" });
  const tell = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    root.style.colorScheme = isDark() ? "light" : "dark";
    tell();
  });
  tell();
  return button;
}
