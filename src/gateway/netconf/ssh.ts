import type { Socket } from 'node:net'
import { type ClientChannel, Client, type ServerHostKeyAlgorithm } from 'ssh2'
import { fingerprintOf } from '../../devices/call-home/fingerprint.ts'

export interface SshOptions {
  readonly socket: Socket
  readonly user: string
  /** In the format of OpenSSH. */
  readonly privateKey: string
  /** The key that the device has announced, in base64; null: any, and `isKnown` decides. */
  readonly hostKey: string | null
  readonly isKnown: (fingerprint: string) => Promise<boolean>
}

/** An authenticated connection with a channel for NETCONF. */
export interface SshConnection {
  readonly channel: ClientChannel
  /** The fingerprint of the host key with which the device has authenticated. */
  readonly fingerprint: string
  /** Ends the connection immediately. */
  end(): void
}

/** The device is not the one that it claims to be, or refuses our login. */
export class SshError extends Error {
  readonly why: 'host_key' | 'ssh'

  constructor(why: 'host_key' | 'ssh', message: string) {
    super(message)
    this.why = why
  }
}

/**
 * Logs in to the device as an SSH client on a socket that the device has opened, and opens NETCONF.
 * @throws SshError
 */
export function openSsh(options: SshOptions): Promise<SshConnection> {
  const { socket, user, privateKey, hostKey } = options
  const client = new Client()
  let fingerprint: string | null = null
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const isWrongKey = fingerprint === null && /host (?:key|denied)|verification failed/i.test(error.message)
      reject(new SshError(isWrongKey ? 'host_key' : 'ssh', error.message))
      end(client, socket)
    }
    client.on('error', fail)
    client.on('close', () => fail(new Error('the connection ended')))
    client.on('ready', () => {
      openNetconf(client).then((channel) => {
        resolve({ channel, fingerprint: fingerprint ?? '', end: () => end(client, socket) })
      }, fail)
    })
    const verifyHostKey = async (key: Buffer): Promise<boolean> => {
      const found = fingerprintOf(key)
      // A vouched key is exact. The promise of `isKnown` may reject when the database is away: then nothing is proved.
      const isRight = hostKey === null ? await options.isKnown(found) : key.equals(Buffer.from(hostKey, 'base64'))
      if (isRight) fingerprint = found
      return isRight
    }
    client.connect({
      sock: socket,
      username: user,
      privateKey,
      authHandler: ['publickey'],
      // The gateway limits the time of the whole connection.
      readyTimeout: 0,
      hostVerifier: (key: Buffer, verify: (isRight: boolean) => void) => {
        verifyHostKey(key).then(verify, () => verify(false))
      },
      ...(hostKey !== null && { algorithms: { serverHostKey: algorithmsOf(hostKey) } }),
    })
  })
}

/** A device has keys of several types: only the one that it has announced is vouched for. */
function algorithmsOf(hostKey: string): ServerHostKeyAlgorithm[] {
  const blob = Buffer.from(hostKey, 'base64')
  const length = blob.length >= 4 ? blob.readUInt32BE(0) : 0
  const type = blob.subarray(4, 4 + length).toString('latin1')
  if (type === 'ssh-rsa') return ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa']
  const known = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] as const
  const exact = known.find((name) => name === type)
  if (exact === undefined) throw new SshError('host_key', 'the device announces a host key of an unknown type')
  return [exact]
}

/** Older releases have no subsystem. Source: Junos OS NETCONF guide. */
async function openNetconf(client: Client): Promise<ClientChannel> {
  const subsystem = await new Promise<ClientChannel | null>((resolve) => {
    client.subsys('netconf', (error, channel) => resolve(error === undefined ? channel : null))
  })
  if (subsystem !== null) return subsystem
  return new Promise((resolve, reject) => {
    client.exec('xml-mode netconf need-trailer', (error, channel) => {
      if (error === undefined) resolve(channel)
      else reject(new Error('the device offers no NETCONF'))
    })
  })
}

/** After the first error there may be more, for which no handler would remain. */
function end(client: Client, socket: Socket): void {
  client.removeAllListeners('error')
  client.on('error', () => undefined)
  client.destroy()
  socket.destroy()
}
