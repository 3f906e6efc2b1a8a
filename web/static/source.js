// The event stream itself: followed by a tab alone, or, as a shared worker, for all tabs of a browser.

const NAMES = ['snapshot', 'message', 'delta', 'turn_started', 'turn_finished', 'approval', 'reload', 'threads'];

/** Tell what happens: `event`s, `open` after a gap, `back` where the server tells what was missed, `down`. */
export function follow(tell) {
  let hasId = false;
  const source = new EventSource('/api/events');
  source.onopen = () => tell({ kind: hasId ? 'back' : 'open' });
  source.onerror = () => {
    tell({ kind: 'down' });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(tell), 4000);
  };
  for (const name of NAMES) {
    source.addEventListener(name, (e) => {
      hasId = true;
      tell({ kind: 'event', name, id: e.lastEventId, data: JSON.parse(e.data) });
    });
  }
}

function share() {
  const ports = new Set();
  let isOpen = false;
  let newest = '';
  follow((message) => {
    if (message.id) newest = message.id;
    else isOpen = message.kind !== 'down';
    for (const port of ports) port.postMessage(message);
  });
  self.onconnect = ({ ports: [port] }) => {
    ports.add(port);
    port.onmessage = () => ports.delete(port);
    if (isOpen) port.postMessage({ kind: 'joined', id: newest });
  };
}

if ('onconnect' in self) share();
