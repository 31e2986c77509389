// The state of the page in the fragment of its address, so that a view can be sent as a link.

/**
 * Return the state that the address tells.
 * @returns {Map<string, string>}
 */
function readFragment() {
  return new Map(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Write the state into the address, without a step of the history for each change.
 * @param {Map<string, string>} state  Empty values are left out.
 */
function writeFragment(state) {
  const told = new URLSearchParams([...state].filter(([, value]) => value !== ""));
  try {
    history.replaceState(null, "", `#${told}`);
  } catch {
    // Some frames have no address of their own: there the state is not kept.
  }
}
