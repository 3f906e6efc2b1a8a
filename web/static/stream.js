// The shared worker: one event stream for all tabs of a browser, handed on to each.

const NAMES = ['snapshot', 'message', 'delta', 'turn_started', 'turn_finished', 'approval', 'reload', 'threads'];
const KEPT = 300;
const RETRY_MS = 4000;

const ports = new Set();
const recent = [];
let source = null;
let wasOpen = false;

function tell(message) {
  for (const port of ports) port.postMessage(message);
}

function open() {
  source = new EventSource('/api/events');
  source.onopen = () => {
    tell({ kind: wasOpen ? 'back' : 'open' });
    wasOpen = true;
  };
  source.onerror = () => {
    tell({ kind: 'down' });
    if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
    source = null;
    wasOpen = false;
    recent.length = 0;
    if (ports.size) setTimeout(() => source ?? (ports.size && open()), RETRY_MS);
  };
  for (const name of NAMES) {
    source.addEventListener(name, (event) => {
      const message = { kind: 'event', name, id: event.lastEventId, data: event.data };
      recent.push(message);
      if (recent.length > KEPT) recent.shift();
      tell(message);
    });
  }
}

self.onconnect = (connection) => {
  const port = connection.ports[0];
  ports.add(port);
  port.onmessage = (message) => {
    if (message.data === 'bye') ports.delete(port);
  };
  if (source === null) open();
  // What came between the rendering of the page and now is in `recent`, if we listened already.
  port.postMessage({ kind: wasOpen ? 'joined' : 'opening', recent });
};
