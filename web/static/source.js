// The event stream itself, for the shared worker and for a tab that has none.

const NAMES = ['snapshot', 'message', 'delta', 'turn_started', 'turn_finished', 'approval', 'reload', 'threads'];

/** Tell what happens: `event`s, `open` after a gap, `back` after none, `down`. */
export function follow(tell) {
  let wasOpen = false;
  const source = new EventSource('/api/events');
  source.onopen = () => {
    tell({ kind: wasOpen ? 'back' : 'open' });
    wasOpen = true;
  };
  source.onerror = () => {
    tell({ kind: 'down' });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(tell), 4000);
  };
  for (const name of NAMES) {
    source.addEventListener(name, (e) => tell({ kind: 'event', name, id: e.lastEventId, data: JSON.parse(e.data) }));
  }
}
