// The box to write in: Enter sends, a slash offers the commands, what was refused stays in the box.

export function start(area) {
  const form = area.querySelector('form');
  const box = form.querySelector('textarea');
  const menu = area.querySelector('[role=listbox]');
  const options = menu ? [...menu.children] : [];
  const most = matchMedia('(max-width: 56rem)').matches ? 5 : 7;
  let chosen = null;
  let sent = null;

  const shown = () => options.filter((option) => !option.hidden);

  function choose(option) {
    chosen = option;
    for (const other of options) other.setAttribute('aria-selected', String(other === option));
    box.setAttribute('aria-activedescendant', option?.id ?? '');
  }

  /** Show the commands that begin like this; nothing does like '-'. */
  function offer(text = box.value.toLowerCase().trimEnd()) {
    if (!menu) return;
    let count = 0;
    for (const option of options) {
      const usage = option.dataset.usage.toLowerCase();
      option.hidden = !text || usage === text || !usage.startsWith(text) || ++count > most;
    }
    menu.hidden = count === 0;
    area.querySelector('#offered').textContent = count ? `${Math.min(count, most)} commands, arrow keys choose` : '';
    if (chosen?.hidden || !count) choose(null);
  }

  function take(option) {
    const { usage, whole } = option.dataset;
    box.value = whole === undefined ? usage.replace(/ (STEP|A|B|LABEL).*$/, ' ') : usage;
    offer('-');
    box.focus();
  }

  /** Whether the menu takes a key. */
  function onMenuKey(key) {
    const list = shown();
    const at = list.indexOf(chosen);
    if (key === 'ArrowDown') choose(list[(at + 1) % list.length]);
    else if (key === 'ArrowUp') choose(list.at(at - 1 < 0 ? -1 : at - 1));
    else if (key === 'Escape') offer('-');
    else if (key === 'Tab' || (key === 'Enter' && chosen)) take(chosen ?? list[0]);
    else return false;
    return true;
  }

  box.addEventListener('keydown', (event) => {
    if (event.isComposing || event.shiftKey) return;
    if (menu && !menu.hidden && onMenuKey(event.key)) {
      event.preventDefault();
    } else if (event.key === 'Escape') {
      box.blur();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (box.value.trim()) form.requestSubmit(form.querySelector('.go'));
    }
  });
  box.addEventListener('input', () => offer());
  box.addEventListener('blur', () => offer('-'));
  menu?.addEventListener('mousedown', (event) => {
    event.preventDefault();
    take(event.target.closest('[role=option]'));
  });

  form.addEventListener('htmx:beforeRequest', (event) => {
    if (event.target !== form) return; // stopping is a request of its own: what is in the box stays there
    if (sent !== null) event.preventDefault(); // the same message twice is a double press
    sent ??= box.value;
    offer('-');
  });
  form.addEventListener('htmx:afterRequest', (event) => {
    if (event.target !== form) {
      box.focus();
      return;
    }
    if (event.detail.successful && box.value === sent) box.value = '';
    sent = null;
    area.dispatchEvent(new CustomEvent('turnback:sent'));
  });
  if (!matchMedia('(pointer: coarse)').matches && document.activeElement.id !== 'search') {
    box.focus({ preventScroll: true });
  }
}
