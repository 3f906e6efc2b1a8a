// What every page does: starts its modules, keeps times true, says what went wrong, knows the keys.

import { connect } from './live.js';

const started = new WeakMap();

/** Start the module that each element below `root` names with data-module, once. */
export function startModules(root = document) {
  const named = [...root.querySelectorAll('[data-module]')];
  if (root.matches?.('[data-module]')) named.unshift(root);
  for (const element of named) {
    if (started.has(element)) continue;
    started.set(element, true);
    const name = element.dataset.module;
    if (!/^[a-z]+$/.test(name)) continue;
    import(`./${name}.js`).then((module) => module.start?.(element));
  }
}

/** Say something that went well, politely; or what did not, at once. `unseen`: only to screen readers. */
export function say(text, failed = false, unseen = false) {
  const place = document.getElementById(failed ? 'alert' : 'status');
  if (!place) return;
  const note = document.createElement('p');
  note.className = unseen ? 'vh' : failed ? 'toast bad' : 'toast';
  note.textContent = text;
  place.replaceChildren(note);
  clearTimeout(place.timer);
  place.timer = setTimeout(() => note.remove(), failed ? 12000 : 6000);
}

/** Whether somebody is typing there, so that single keys are letters. */
export function isTyping(target) {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** POST fields to a page of ours as htmx would; answers the Response. */
export function post(path, fields) {
  return fetch(path, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { 'HX-Request': 'true', Accept: 'text/html' },
  });
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

function ago(seconds, at) {
  if (seconds < MINUTE) return 'now';
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`;
  if (seconds < 2 * DAY) return 'yesterday';
  if (seconds < 7 * DAY) return `${Math.floor(seconds / DAY)} days`;
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}

/** Times that were rendered relative, and the exact one in the reader's own zone on hover. */
export function freshenTimes(root = document) {
  for (const element of root.querySelectorAll('time[datetime]')) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime()) || 'exact' in element.dataset) continue;
    const text = ago((Date.now() - at.getTime()) / 1000, at);
    if (element.textContent !== text) element.textContent = text;
    const exact = at.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
    if (element.title !== exact) element.title = exact;
  }
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    const search = document.getElementById('search');
    if (search) {
      event.preventDefault();
      if (search.offsetParent === null) window.location.href = '/#search';
      else search.focus();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === '?') {
    document.getElementById('keys')?.showModal();
  } else if (event.key === '/') {
    const composer = document.getElementById('composer');
    if (composer) {
      event.preventDefault();
      composer.focus();
    }
  }
}

function onSwapped(event) {
  const root = event.detail.elt ?? document;
  startModules(root);
  freshenTimes(root);
  if (root === document.body || root.contains?.(document.getElementById('main'))) {
    connect();
    if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
  }
}

function onBeforeSwap(event) {
  const { xhr } = event.detail;
  if (!(xhr.getResponseHeader('Content-Type') ?? '').startsWith('text/html') && xhr.responseText) {
    event.detail.shouldSwap = false;
    let detail = '';
    try {
      detail = JSON.parse(xhr.responseText).detail ?? '';
    } catch {
      // a proxy's own page, or nothing
    }
    say(detail || `Turnback could not do that (${xhr.status}). Try again in a moment.`, true);
  }
}

/** What was refused where nothing is swapped is said all the same. */
function onResponseError(event) {
  const { xhr, elt } = event.detail;
  if (elt.getAttribute('hx-swap') !== 'none') return;
  const answer = new DOMParser().parseFromString(xhr.responseText, 'text/html');
  say(answer.querySelector('[role=alert]')?.textContent.trim() || 'That did not work. Try again.', true);
}

document.addEventListener('keydown', onKey);
document.addEventListener('htmx:responseError', onResponseError);
document.addEventListener('htmx:load', onSwapped);
document.addEventListener('htmx:beforeSwap', onBeforeSwap);
document.addEventListener('htmx:sendError', () => say('Turnback cannot be reached. Nothing was changed. Try again.', true));
document.addEventListener('htmx:timeout', () => say('That takes too long. Try again.', true));
setInterval(() => freshenTimes(), 20000);

startModules();
freshenTimes();
connect();
