// What happens, as it happens. Listeners get (name, data); ('reload', {thread_id: null}) where something may
// have been missed. One stream for the browser where it has shared workers, else one for the tab.

import { follow } from './source.js';

const listeners = new Set();
let account = null;
let newest = '';

/** Hear of everything from now on; answers a function that ends it. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether something happened after the event `at`, which a page that was rendered then cannot show. */
export function movedSince(at, id = newest) {
  const [run, number] = id.split('-');
  const [itsRun, itsNumber] = at.split('-');
  return id !== '' && (run !== itsRun || Number(number) > Number(itsNumber));
}

function receive({ kind, name, id, data }, seen) {
  if (id) newest = id;
  if (kind === 'event') {
    for (const listener of [...listeners]) listener(name, data);
    return;
  }
  const { classList } = document.documentElement;
  classList.toggle('listening', kind !== 'down');
  classList.toggle('offline', kind === 'down');
  if (kind === 'open' || (kind === 'joined' && movedSince(seen, id))) {
    receive({ kind: 'event', name: 'reload', data: { thread_id: null } });
  }
}

/** Begin to listen, once for each account that is signed in here. */
export function connect() {
  const app = document.getElementById('app');
  if (!app || account === app.dataset.account) return;
  if (account) window.location.reload();
  account = app.dataset.account;
  const { streamAt } = app.dataset;
  if (!('SharedWorker' in window)) {
    follow((message) => receive(message, streamAt));
    return;
  }
  const url = new URL('./source.js', import.meta.url);
  const { port } = new SharedWorker(url, { type: 'module', name: account });
  port.onmessage = (event) => receive(event.data, streamAt);
  window.addEventListener('pagehide', () => port.postMessage('bye'));
}
