import { type AddressInfo, type Server, type Socket, createServer } from 'node:net'
import { SSH_USER } from '../../devices/call-home/ssh-user.ts'
import {
  type ConnectionPolicy,
  createConnectionGate,
  defaultConnections,
} from '../../platform/queues/connection-gate.ts'
import type { LinkHost, Listener, Protocol } from '../protocol.ts'
import { Allowances } from '../admission/allowance.ts'
import { createTurns } from '../admission/turns.ts'
import { visitAll } from '../admission/visit-all.ts'
import { RefusedError, type Refusal, acceptDevice } from './accept.ts'
import { createCallers } from './callers.ts'
import { FAMILY } from './driver.ts'
import { type NetconfLimits, defaultLimits } from './limits.ts'
import type { JunosLink } from './link.ts'

export interface NetconfOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** The key with which the gateway logs in to devices, in the format of OpenSSH. */
  readonly privateKey: string
  readonly connections?: ConnectionPolicy
  readonly limits?: Partial<NetconfLimits>
}

/**
 * Junos devices that call home: the device opens the connection, by `outbound-ssh` or by NETCONF call home (RFC 8071),
 * and is the SSH server on it.
 */
export function netconf(options: NetconfOptions): Protocol {
  return { family: FAMILY, listen: (host) => listen(host, options) }
}

/** Detects a device that lost its power during a long request, in minutes rather than hours. */
const KEEP_ALIVE_MS = 60_000
const BACKLOG = 4096

async function listen(host: LinkHost, options: NetconfOptions): Promise<Listener> {
  const { ctx, counters, refusals, now, monotonicMs } = host
  const limits: NetconfLimits = { ...defaultLimits, ...options.limits }
  const links = new Set<JunosLink>()
  const sockets = new Set<Socket>()
  const turns = createTurns(now)
  const allowances = new Allowances()
  let isStopped = false

  function refuse(
    why: Refusal | 'busy' | 'network' | 'late' | 'silent' | 'error',
    address: string,
    detail?: string,
  ): void {
    counters.add(why === 'error' ? 'message_failed' : `refused_${why}`)
    refusals.add({ protocol: 'junos', why, address, ...(detail !== undefined && { detail }) })
    const level = why === 'host_key' || why === 'foreign' ? 'warn' : 'debug'
    ctx.log[level]({ why, address, detail }, 'refused a connection')
  }

  async function begin(socket: Socket, address: string): Promise<void> {
    try {
      const link = await acceptDevice(
        {
          host,
          turns,
          allowances,
          user: SSH_USER,
          privateKey: options.privateKey,
          onSsh: (ready) => callers.extend(ready),
        },
        { socket, address },
      )
      if (link === null) return
      counters.add('sessions')
      links.add(link)
      socket.once('close', () => links.delete(link))
      if (isStopped) link.close('restart')
      // The socket may have closed since.
      if (socket.destroyed) links.delete(link)
    } catch (error) {
      socket.destroy()
      if (error instanceof RefusedError) refuse(error.why, address, error.message.slice(0, 200))
      else {
        refuse('error', address)
        ctx.log[host.failureLevel(error)]({ err: error, address }, 'a device could not be connected')
      }
    } finally {
      callers.leave(socket)
    }
  }

  const callers = createCallers({
    ...limits,
    now: monotonicMs,
    begin: (socket, address) => void begin(socket, address),
    onRefused: refuse,
  })
  const gate = createConnectionGate(options.connections ?? defaultConnections, ctx.log)
  // A request is several small packets: the last one would wait for the device's delayed acknowledgment of the first.
  const listener = createServer(
    { pauseOnConnect: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS },
    (socket) =>
      gate.pass(socket, {
        enter(address) {
          sockets.add(socket)
          socket.once('close', () => sockets.delete(socket))
          callers.add(socket, address)
        },
        refuse: (address) => refuse('network', address),
      }),
  )
  const port = await open(listener, options)
  return {
    port,
    async look() {
      callers.dropLate()
      await visitAll(links, (link) => link.look(limits))
      allowances.sweep(now())
    },
    close: () =>
      new Promise((resolve) => {
        isStopped = true
        listener.close(() => resolve())
        callers.stop()
        for (const link of links) link.close('restart')
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function open(listener: Server, { host, port }: NetconfOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ port, host, backlog: BACKLOG }, () => {
      listener.off('error', reject)
      // A listening TCP server has no other kind of address.
      resolve((listener.address() as AddressInfo).port)
    })
  })
}
