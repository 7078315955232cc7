/** Why the gateway refuses connections, by the names of its counters, and what helps. */
const words: Readonly<Record<string, string>> = {
  busy: 'Too many devices connect at the same time. It is let in when it tries again',
  network: 'Too many connections from its network at the same time',
  late: 'It did not begin in time. The network between may be slow',
  silent: 'It connected and said nothing',
  tls: 'The TLS handshake failed: it has no certificate of the device CA, or does not trust the gateway',
  identity: 'Its certificate is revoked, it is not registered, or another device has its MAC',
  request: 'It does not ask for a WebSocket, as devices do',
  flooding: 'It sent more than devices send, and has to pause',
  preamble: 'It did not begin as devices that call home do',
  host_key: 'Its SSH host key has changed. Approve it if the device was replaced',
  ssh: 'The SSH session failed: it does not accept the key of the service',
  netconf: 'It does not speak NETCONF as expected',
  foreign: 'It belongs to nobody, or to another organization than its call says',
  error: 'The service met a defect; its log says more',
}

export function refusalText(reason: string): string {
  return words[reason] ?? reason
}

const protocols: Readonly<Record<string, string>> = {
  ucentral: 'uCentral',
  edge: 'Agents and SSR routers',
  junos: 'Junos, calling home',
}

export function protocolText(protocol: string): string {
  return protocols[protocol] ?? protocol
}
