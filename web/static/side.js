// The sidebar: refreshed when the list of chats changes anywhere, keeping focus, search and scroll.

import { released } from './app.js';
import { listen, movedSince } from './live.js';

const CHANGES = ['threads', 'turn_started', 'turn_finished'];

export function start(side) {
  const list = side.querySelector('#chats');
  let timer = null;
  let asked = 0;

  async function refresh() {
    timer = null;
    const mine = ++asked;
    const query = new URLSearchParams(new FormData(side.querySelector('form')));
    // Without an answer the stream is down, too; it says when it is back.
    const answer = await fetch(`/sidebar?${query}`, { headers: { 'HX-Request': 'true' } }).catch(() => null);
    const html = answer?.ok ? await answer.text() : null;
    await released(list);
    if (html === null || mine !== asked) return; // an older answer never replaces a newer one
    const focused = list.contains(document.activeElement) && document.activeElement.getAttribute('href');
    window.htmx.swap(list, html, { swapStyle: 'innerHTML' });
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  const soon = () => (timer ??= setTimeout(refresh, 80));
  const stop = listen((name, data) => {
    if (!side.isConnected) stop();
    else if (CHANGES.includes(name) || (name === 'reload' && data.thread_id === null)) soon();
  });
  if (movedSince(document.getElementById('app').dataset.streamAt)) soon();
  if (window.location.hash === '#search') side.querySelector('#search').focus();
}
