// The data of the page: JSON in script elements, compressed if there are many.

/**
 * Return the data of this name.
 * @param {string} name
 * @returns {Promise<any>}
 */
async function readBlock(name) {
  const node = /** @type {HTMLScriptElement} */ (document.getElementById(`data-${name}`));
  const text = node.textContent;
  if (node.type === "application/json") return JSON.parse(text);
  const stream = new Blob([decodeBase64(text)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
}

/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decodeBase64(text) {
  const quick = /** @type {any} */ (Uint8Array).fromBase64; // browsers since 2025 have it
  if (quick) return quick.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

/**
 * Return numbers as an array that is quick to sort and to filter; null becomes NaN.
 * @param {Array<number|null>} values
 * @returns {Float64Array}
 */
function numbers(values) {
  return Float64Array.from(values, (value) => value ?? NaN);
}
