// What happens, as it happens: from the shared worker, or a stream of this tab's own where there is none.
//
// Listeners get (name, data). After a gap that the server cannot fill they get ('reload', {thread_id: null}).

const NAMES = ['snapshot', 'message', 'delta', 'turn_started', 'turn_finished', 'approval', 'reload', 'threads'];

const listeners = new Set();
let link = null;
let account = null;
let isDown = false;
let newest = '';

/** Hear of everything from now on; answers a function that ends it. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(name, data) {
  for (const listener of [...listeners]) listener(name, data);
}

function numberOf(id) {
  const [run, number] = (id ?? '').split('-');
  return { run, number: Number(number) };
}

/** Whether something happened after the event `at`, which a page that was rendered then cannot show. */
export function movedSince(at) {
  const [its, mine] = [numberOf(newest), numberOf(at)];
  return newest !== '' && (its.run !== mine.run || its.number > mine.number);
}

function onEvent({ name, data, id }) {
  newest = id;
  tell(name, JSON.parse(data));
}

function onMessage(message, seen) {
  if (message.kind === 'event') {
    onEvent(message);
  } else if (message.kind === 'joined') {
    const mine = numberOf(seen);
    for (const past of message.recent) {
      const its = numberOf(past.id);
      if (its.run !== mine.run || its.number > mine.number) onEvent(past);
    }
    down(false);
  } else if (message.kind === 'open') {
    // The page was rendered before the stream began: what lies between is asked for once.
    tell('reload', { thread_id: null });
    down(false);
  } else if (message.kind === 'back') {
    down(false);
  } else if (message.kind === 'down') {
    down(true);
  }
}

function down(now) {
  document.documentElement.classList.toggle('listening', !now);
  if (isDown === now) return;
  isDown = now;
  document.documentElement.classList.toggle('offline', now);
  tell(now ? 'down' : 'up', {});
}

function shared(url, seen) {
  const worker = new SharedWorker(url, { name: `turnback ${account}` });
  worker.port.onmessage = (event) => onMessage(event.data, seen);
  worker.port.start();
  window.addEventListener('pagehide', () => worker.port.postMessage('bye'));
  return worker;
}

function own() {
  const source = new EventSource('/api/events');
  let wasOpen = false;
  source.onopen = () => {
    onMessage({ kind: wasOpen ? 'back' : 'open' });
    wasOpen = true;
  };
  source.onerror = () => {
    onMessage({ kind: 'down' });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => (link = own()), 4000);
  };
  for (const name of NAMES) source.addEventListener(name, (event) => onEvent({ name, data: event.data, id: event.lastEventId }));
  return source;
}

/** Begin to listen, once for each account that is signed in here. */
export function connect() {
  const app = document.getElementById('app');
  if (!app || (link && account === app.dataset.account)) return;
  if (link) window.location.reload();
  account = app.dataset.account;
  const url = new URL('./stream.js', import.meta.url);
  link = 'SharedWorker' in window ? shared(url, app.dataset.streamAt) : own();
}
