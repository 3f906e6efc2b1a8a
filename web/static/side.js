// The sidebar: refreshed when the list of chats changes anywhere, keeping focus, search and scroll.

import { freshenTimes, startModules } from './app.js';
import { listen, movedSince } from './live.js';

export function start(side) {
  const list = side.querySelector('#chats');
  const form = side.querySelector('form');
  let timer = null;
  let asked = 0;

  async function refresh() {
    timer = null;
    const mine = ++asked;
    const query = new URLSearchParams(new FormData(form));
    let answer;
    try {
      answer = await fetch(`/sidebar?${query}`, { headers: { 'HX-Request': 'true' } });
    } catch {
      return; // the stream says so too, and tells when it is back
    }
    if (!answer.ok || mine !== asked || !side.isConnected) return;
    const html = await answer.text();
    if (mine !== asked) return; // an older answer never replaces a newer one
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    list.innerHTML = html;
    window.htmx?.process(list);
    freshenTimes(list);
    startModules(list);
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  const stop = listen((name, data) => {
    if (!side.isConnected) {
      stop();
      return;
    }
    const changes = name === 'threads' || name === 'turn_started' || name === 'turn_finished';
    if ((changes || (name === 'reload' && data.thread_id === null)) && timer === null) {
      timer = setTimeout(refresh, 80);
    }
  });
  if (movedSince(document.getElementById('app').dataset.streamAt)) timer = setTimeout(refresh, 80);
  if (window.location.hash === '#search') side.querySelector('#search').focus();
}
