// The box to write in: Enter sends, a slash offers the commands, what was refused stays in the box.

import { say } from './app.js';

export function start(area) {
  const form = area.querySelector('form');
  const box = form.querySelector('textarea');
  const menu = area.querySelector('[role=listbox]');
  const stopButton = form.querySelector('.stop');
  const offered = area.querySelector('#offered');
  let sent = null;

  const options = menu ? [...menu.querySelectorAll('[role=option]')] : [];
  const shown = () => options.filter((option) => !option.hidden);
  const chosen = () => options.find((option) => option.getAttribute('aria-selected') === 'true' && !option.hidden);

  function choose(option) {
    for (const other of options) other.setAttribute('aria-selected', String(other === option));
    if (option) {
      box.setAttribute('aria-activedescendant', option.id);
      option.scrollIntoView({ block: 'nearest' });
    } else {
      box.removeAttribute('aria-activedescendant');
    }
  }

  function close() {
    if (!menu) return;
    menu.hidden = true;
    offered.textContent = '';
    choose(null);
  }

  function offer() {
    if (!menu) return;
    const text = box.value.toLowerCase();
    const fits = text.startsWith('/') && !text.includes('\n');
    let count = 0;
    for (const option of options) {
      const usage = option.dataset.usage.toLowerCase();
      option.hidden = !(fits && usage.startsWith(text.trimEnd()) && usage !== text.trimEnd());
      count += option.hidden ? 0 : 1;
    }
    if (!count) {
      close();
      return;
    }
    menu.hidden = false;
    offered.textContent = `${count} ${count === 1 ? 'command' : 'commands'}, arrow keys choose`;
    if (!chosen()) choose(null);
  }

  function take(option) {
    const usage = option.dataset.usage;
    box.value = 'whole' in option.dataset ? usage : usage.replace(/ (STEP|A|B|LABEL).*$/, ' ');
    close();
    box.focus();
  }

  function onMenuKey(event) {
    const list = shown();
    const at = list.indexOf(chosen());
    if (event.key === 'ArrowDown') choose(list[(at + 1) % list.length]);
    else if (event.key === 'ArrowUp') choose(list[(at <= 0 ? list.length : at) - 1]);
    else if (event.key === 'Escape') close();
    else if ((event.key === 'Tab' || event.key === 'Enter') && (chosen() || (event.key === 'Tab' && list[0])))
      take(chosen() ?? list[0]);
    else return false;
    event.preventDefault();
    return true;
  }

  box.addEventListener('keydown', (event) => {
    if (event.isComposing) return;
    if (menu && !menu.hidden && !event.shiftKey && onMenuKey(event)) return;
    if (event.key === 'Escape') box.blur();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    if (box.value.trim()) form.requestSubmit(form.querySelector('.send, .go'));
  });
  box.addEventListener('input', offer);
  box.addEventListener('blur', () => setTimeout(close, 150));
  menu?.addEventListener('mousedown', (event) => {
    const option = event.target.closest('[role=option]');
    if (!option) return;
    event.preventDefault();
    take(option);
  });

  // Stopping is a request of its own: what is in the box stays there.
  stopButton?.addEventListener('click', async (event) => {
    event.preventDefault();
    const answer = await fetch(stopButton.formAction, { method: 'POST', headers: { 'HX-Request': 'true' } }).catch(() => null);
    if (!answer?.ok) say('The turn could not be stopped. Try again.', true);
    box.focus();
  });

  form.addEventListener('htmx:beforeRequest', (event) => {
    if (event.target !== form) return;
    if (sent !== null) {
      event.preventDefault(); // the same message twice is a double press
      return;
    }
    sent = box.value;
    close();
  });
  form.addEventListener('htmx:afterRequest', (event) => {
    if (event.target !== form) return;
    if (event.detail.successful && box.value === sent) box.value = '';
    sent = null;
    area.dispatchEvent(new CustomEvent('turnback:sent', { bubbles: true }));
  });
  if (!matchMedia('(pointer: coarse)').matches && document.activeElement?.id !== 'search') box.focus({ preventScroll: true });
}
