// The shared worker: one event stream for all tabs of a browser, handed on to each.

import { follow } from './source.js';

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
