// What every page does: starts its modules, keeps times true, says what went wrong, knows the keys.

import { connect } from './live.js';

/** Hand each element from `root` down that has a data-module to `start` of that module, once. */
function startModules(root) {
  for (const element of [root, ...root.querySelectorAll('[data-module]')]) {
    const { dataset } = element;
    if (!dataset.module || dataset.started) continue;
    dataset.started = 'soon';
    import(`./${dataset.module}.js`).then((module) => {
      module.start(element);
      dataset.started = 'yes';
    });
  }
}

/** Say something that went well, politely; or what did not, at once. `unseen`: only to screen readers. */
export function say(text, failed = false, unseen = false) {
  const place = document.getElementById(failed ? 'alert' : 'status');
  const note = document.createElement('p');
  note.className = unseen ? 'vh' : failed ? 'toast bad' : 'toast';
  note.textContent = text;
  place.replaceChildren(note);
  setTimeout(() => note.remove(), failed ? 12000 : 6000);
}

/** Wait until nothing in there is pressed or asks for a page: what is replaced meanwhile loses the click. */
export async function released(element) {
  while (element.matches(':active') || element.querySelector('.htmx-request')) await new Promise((done) => setTimeout(done, 50));
}

/** What single keys do while nobody is typing; modules add their own. */
export const keys = {
  '?': () => document.getElementById('keys')?.showModal(),
  '/': () => document.getElementById('composer')?.focus(),
};

const DAY = 86400;

function ago(at) {
  const seconds = (Date.now() - at) / 1000;
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 2 * DAY) return 'yesterday';
  if (seconds < 7 * DAY) return `${Math.floor(seconds / DAY)} days`;
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}

/** Times that were rendered relative, and the exact one in the reader's own zone on hover. */
function freshenTimes(root) {
  for (const element of root.querySelectorAll('time:not([data-exact])')) {
    const at = new Date(element.dateTime);
    const text = ago(at);
    if (element.textContent !== text) element.textContent = text;
    element.title = at.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
  }
}

function onKey(event) {
  const { key, target } = event;
  const search = document.getElementById('search');
  if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'k') {
    event.preventDefault();
    if (search?.offsetParent) search.focus();
    else window.location.href = '/#search';
  } else if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.('input, textarea, select, dialog')) {
    // not one of ours
  } else if (keys[key]) {
    event.preventDefault();
    keys[key]();
  }
}

function onLoad({ target }) {
  startModules(target);
  freshenTimes(target);
  const main = document.getElementById('main');
  if (!target.contains(main)) return;
  connect();
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
}

/** What is no page (a problem, a proxy's own words) is said instead of shown. */
function onBeforeSwap({ detail }) {
  const { xhr } = detail;
  if (!xhr.responseText || xhr.getResponseHeader('Content-Type')?.startsWith('text/html')) return;
  detail.shouldSwap = false;
  const isJson = xhr.getResponseHeader('Content-Type')?.includes('json');
  say((isJson && JSON.parse(xhr.responseText).detail) || `Turnback could not do that (${xhr.status}). Try again in a moment.`, true);
}

/** What was refused where nothing is swapped is said all the same. */
function onResponseError({ detail: { xhr, elt } }) {
  if (elt.getAttribute('hx-swap') !== 'none') return;
  const answer = new DOMParser().parseFromString(xhr.responseText, 'text/html');
  say(answer.querySelector('[role=alert]')?.textContent.trim() || 'That did not work. Try again.', true);
}

document.addEventListener('keydown', onKey);
document.addEventListener('htmx:load', onLoad);
document.addEventListener('htmx:beforeSwap', onBeforeSwap);
document.addEventListener('htmx:responseError', onResponseError);
document.addEventListener('htmx:sendError', () => say('Turnback cannot be reached. Nothing was changed. Try again.', true));
setInterval(freshenTimes, 20000, document);
