import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Socket, connect } from 'node:net'
import ssh2, { type Connection, type ServerChannel } from 'ssh2'
import { FrameDecoder, type Framing, encodeMessage } from '../../gateway/netconf/framing.ts'
import { type XmlElement, findAll, parseXml } from '../../gateway/netconf/xml.ts'

export interface CallHomeOptions {
  readonly host: string
  readonly port: number
  /** In the format of OpenSSH. */
  readonly hostKey: string
  /** `outbound-ssh`; without it the device calls home as in RFC 8071. */
  readonly outboundSsh?: { readonly deviceId: string; readonly secret: string | null }
  /** The public key that may log in, as in `authorized_keys`; without it any may. */
  readonly authorizedKey?: string
  /** True for releases that know only the older framing. */
  readonly isOld?: boolean
  /** Answers a request; null breaks the connection. The result is the inside of the reply. */
  readonly onRpc: (rpc: XmlElement) => Promise<string | null>
}

/** One connection of a simulated device. */
export interface HomeCall {
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>
  /** Sends the hello, if the device delays it. */
  readonly socket: Socket
  end(): void
}

/** The device opens a connection to the gateway and is the SSH server on it. */
export function callHome(options: CallHomeOptions): HomeCall {
  const { host, port, hostKey, outboundSsh } = options
  const key = ssh2.utils.parseKey(hostKey)
  if (key instanceof Error) throw key
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => serve(client, options))
  // Like the SSH server of a real device, which sends each packet immediately.
  const socket = connect({ host, port, noDelay: true }, () => {
    if (outboundSsh !== undefined) {
      const announced = `${key.type} ${key.getPublicSSH().toString('base64')}`
      socket.write(preambleOf(outboundSsh, announced))
    }
    server.injectSocket(socket)
  })
  socket.on('error', () => socket.destroy())
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  return { closed, socket, end: () => socket.destroy() }
}

function preambleOf({ deviceId, secret }: NonNullable<CallHomeOptions['outboundSsh']>, announced: string): string {
  const lines = ['MSG-ID: DEVICE-CONN-INFO', 'MSG-VER: V1', `DEVICE-ID: ${deviceId}`]
  if (secret !== null)
    lines.push(`HOST-KEY: ${announced}`, `HMAC: ${createHmac('sha1', secret).update(announced).digest('hex')}`)
  return `${lines.join('\r\n')}\r\n`
}

function serve(client: Connection, options: CallHomeOptions): void {
  client.on('error', () => client.end())
  client.on('authentication', (context) => {
    if (context.method !== 'publickey') return context.reject(['publickey'])
    if (!isAuthorized(context.key.data, options.authorizedKey)) return context.reject()
    context.accept()
  })
  client.on('ready', () => {
    client.on('session', (accept) => {
      const session = accept()
      session.on('subsystem', (acceptSubsystem, reject, { name }) => {
        if (name !== 'netconf' || options.isOld === true) return reject()
        speak(acceptSubsystem(), options)
      })
      session.on('exec', (acceptExec, reject, { command }) => {
        if (command !== 'xml-mode netconf need-trailer') return reject()
        speak(acceptExec(), options)
      })
    })
  })
}

function isAuthorized(blob: Buffer, authorizedKey: string | undefined): boolean {
  if (authorizedKey === undefined) return true
  const expected = Buffer.from(authorizedKey.split(' ')[1] ?? '', 'base64')
  return expected.length === blob.length && timingSafeEqual(expected, blob)
}

const NETCONF = 'urn:ietf:params:xml:ns:netconf:base:1.0'

function speak(channel: ServerChannel, { onRpc, isOld = false }: CallHomeOptions): void {
  const decoder = new FrameDecoder(1024 * 1024)
  let framing: Framing = 'end_of_message'
  let greeted = false
  let handling = Promise.resolve()
  const capabilities = [NETCONF.replace(':xml:ns', ''), ...(isOld ? [] : ['urn:ietf:params:netconf:base:1.1'])]
  const list = capabilities.map((uri) => `<capability>${uri}</capability>`).join('')
  channel.write(
    encodeMessage(
      `<hello xmlns="${NETCONF}"><capabilities>${list}</capabilities><session-id>4242</session-id></hello>`,
      framing,
    ),
  )

  async function handle(text: string): Promise<void> {
    const root = parseXml(text)
    const [rpc] = root.children
    if (rpc === undefined) return
    const body = await onRpc(rpc)
    if (body === null) return
    const id = root.attributes['message-id'] ?? ''
    const reply = `<rpc-reply xmlns="${NETCONF}" xmlns:junos="http://xml.juniper.net/junos/22.4R3/junos" message-id="${id}">${body}</rpc-reply>`
    if (channel.writable) channel.write(encodeMessage(reply, framing))
  }

  channel.on('data', (bytes: Buffer) => {
    decoder.push(bytes)
    for (let text = decoder.next(); text !== null; text = decoder.next()) {
      if (greeted) {
        const message = text
        handling = handling.then(() => handle(message))
        continue
      }
      greeted = true
      const theirs = findAll(parseXml(text), 'capability').some(({ text: uri }) => uri.endsWith('base:1.1'))
      if (!theirs || isOld) continue
      framing = 'chunked'
      decoder.setFraming('chunked')
    }
  })
}
