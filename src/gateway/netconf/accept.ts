import type { Socket } from 'node:net'
import { admitDevice } from '../../devices/call-home/admit-device.ts'
import { findCallHomeSecret } from '../../devices/call-home/secret.ts'
import { listDevicesByKey } from '../../devices/call-home/store.ts'
import { deviceIdOf } from '../../devices/device.ts'
import type { Allowances } from '../admission/allowance.ts'
import type { LinkHost } from '../protocol.ts'
import type { Turns } from '../admission/turns.ts'
import { type JunosFacts, readFacts } from './facts.ts'
import { Intake } from './intake.ts'
import { JunosLink } from './link.ts'
import { type Preamble, PreambleError, PreambleReader, isVouchedFor } from './preamble.ts'
import { NetconfSession } from './session.ts'
import { SshError, openSsh } from './ssh.ts'
import type { Task } from './task.ts'

/**
 * Why a connection did not become a link. `preamble`: the bytes before SSH are not a valid preamble. `host_key`: nobody
 * vouched for the device's key. `ssh`: the handshake or the login failed. `netconf`: the device does not identify
 * itself. `foreign`: it belongs to another organization. `flooding`: its key has recently exceeded its allowance.
 */
export type Refusal = 'preamble' | 'host_key' | 'ssh' | 'netconf' | 'foreign' | 'flooding'

export class RefusedError extends Error {
  readonly why: Refusal

  constructor(why: Refusal, message: string) {
    super(message)
    this.why = why
  }
}

export interface AcceptOptions {
  readonly host: LinkHost
  readonly turns: Turns
  /** By fingerprint, because a device can't change its key once it is known. */
  readonly allowances: Allowances
  readonly user: string
  readonly privateKey: string
  /** Called when SSH begins. */
  readonly onSsh: (socket: Socket) => void
}

export interface Caller {
  readonly socket: Socket
  readonly address: string
}

/**
 * Turns a connection into the link of a device, which is recorded and may be used when this resolves.
 * @returns Null if the device has connected once more meanwhile.
 * @throws RefusedError; or any error of the database.
 */
export async function acceptDevice(options: AcceptOptions, { socket, address }: Caller): Promise<JunosLink | null> {
  const { host, turns, allowances } = options
  const { ctx, now, counters } = host
  const preamble = await readPreamble(socket)
  options.onSsh(socket)
  const intake = new Intake(socket, now)
  const vouchingOrgId = await findVouchingOrg(host, preamble)
  const connection = await openSsh({
    socket,
    user: options.user,
    privateKey: options.privateKey,
    hostKey: vouchingOrgId === null ? null : preamble.hostKey,
    isKnown: async (fingerprint) => (await listDevicesByKey(ctx.db, fingerprint)).size > 0,
  }).catch((error: unknown) => {
    throw error instanceof SshError ? new RefusedError(error.why, error.message) : error
  })
  const { fingerprint } = connection
  if (allowances.isSpent(fingerprint, now()))
    throw new RefusedError('flooding', `its key ${fingerprint} sends too much`)
  const allowance = allowances.open(fingerprint, now())
  socket.once('close', () => allowances.release(fingerprint))
  // A cell, because the session may close before the link exists.
  const opened: { link?: JunosLink } = {}
  const session = new NetconfSession(connection, {
    now,
    turns,
    allowance,
    onClosed: () => void opened.link?.onSessionClosed(),
    onBroken(why) {
      counters.add('malformed_frame')
      ctx.log.warn({ address, mac: opened.link?.mac, detail: why.slice(0, 200) }, 'closed a session of a device')
    },
  })
  intake.countFor(allowance, () => {
    counters.add('flood')
    if (opened.link !== undefined) host.onTrouble(opened.link, 'DEVICE_SENDS_TOO_MUCH')
    const detail = 'it sends more than the gateway reads, or does not read'
    ctx.log.warn({ address, mac: opened.link?.mac, detail }, 'closed a session of a device')
    session.close()
  })
  socket.once('close', () => session.close())
  try {
    if (!(await session.ready)) throw new RefusedError('netconf', 'it sends no hello')
    const facts = await runFacts(session)
    const decision = await admitDevice(ctx, {
      deviceId: deviceIdOf(facts.mac),
      vouchingOrgId,
      fingerprint,
    })
    if (decision.kind === 'refused') throw new RefusedError('host_key', refusals[decision.why](facts.mac, fingerprint))
    const link = new JunosLink(host, { session, facts, orgId: decision.orgId, address })
    const result = await host.connect(link, link.deviceFacts)
    if (result === 'replaced') return null
    if (result === 'refused') throw new RefusedError('foreign', `device ${facts.mac} belongs to another organization`)
    opened.link = link
    link.reportFirst()
    // The session may have closed while its connection was being recorded.
    if (session.isClosed) void link.onSessionClosed()
    return link
  } catch (error) {
    session.close()
    throw error
  }
}

const refusals: Readonly<Record<'unknown_key' | 'other_protocol' | 'too_many', (mac: string, key: string) => string>> =
  {
    unknown_key: (mac, key) => `its host key ${key} is not that of device ${mac}`,
    other_protocol: (mac) => `device ${mac} does not call home: it is known by another protocol`,
    too_many: (mac) => `device ${mac} is unknown, and 1000 unclaimed ones use the secret already: claim them first`,
  }

/** Returns the organization whose secret vouches for the announced key. */
async function findVouchingOrg({ ctx }: LinkHost, preamble: Preamble): Promise<string | null> {
  const { deviceId, hostKey } = preamble
  if (deviceId === null || hostKey === null || !isUuid.test(deviceId)) return null
  const secret = await findCallHomeSecret(ctx, ctx.db, deviceId.toLowerCase())
  return secret !== undefined && isVouchedFor(preamble, secret) ? deviceId.toLowerCase() : null
}

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reads until SSH begins, and returns the bytes of SSH to the socket. */
function readPreamble(socket: Socket): Promise<Preamble> {
  const reader = new PreambleReader()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      socket.off('data', onData)
      socket.off('close', onClose)
    }
    const onClose = (): void => {
      stop()
      reject(new RefusedError('preamble', 'it left before SSH began'))
    }
    const onData = (bytes: Buffer): void => {
      try {
        const done = reader.read(bytes)
        if (done === null) return
        stop()
        socket.pause()
        socket.unshift(done.rest)
        resolve(done.preamble)
      } catch (error) {
        stop()
        reject(error instanceof PreambleError ? new RefusedError('preamble', error.message) : error)
      }
    }
    socket.on('data', onData)
    socket.once('close', onClose)
    socket.resume()
  })
}

async function runFacts(session: NetconfSession): Promise<JunosFacts> {
  const task: Task<JunosFacts | string> = readFacts()
  let next = task.next()
  while (next.done !== true) {
    const reply = await session.request(next.value)
    if (reply.kind === 'broken') throw new RefusedError('netconf', 'it disconnected before it identified itself')
    next = await session.decode(() => task.next(reply))
  }
  if (typeof next.value === 'string') throw new RefusedError('netconf', next.value)
  return next.value
}
